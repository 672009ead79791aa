-- Values that depend on the partition of a row and on its place there are Spark's. What would place rows anew below them
-- stays in Spark: sorts, joins of sorted inputs, aggregations, round robin; with AQE, which coalesces by bytes, every exchange.
-- tables: tame, raising, small_files
-- matrix: ansi=true ; aqe=false
-- set: spark.sql.autoBroadcastJoinThreshold=-1
-- expect: any

-- expect: partly Sort: .*placement
SELECT k, monotonically_increasing_id() AS n FROM (SELECT k FROM raising ORDER BY g, k);
-- expect: partly Sort: .*placement
SELECT k, rand(3) AS n FROM (SELECT k FROM raising ORDER BY g, k);
-- expect: partly Sort: .*placement
SELECT k FROM (SELECT k FROM raising ORDER BY g, k) TABLESAMPLE (30 PERCENT) REPEATABLE (5);
-- expect: partly Exchange: .*placement
SELECT k, rand(3) AS n FROM (SELECT /*+ REPARTITION(3) */ k FROM raising);
-- expect: converted
SELECT k, rand(3) AS n FROM raising WHERE k > 10;
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.files.maxPartitionBytes=10000 ; spark.sql.files.openCostInBytes=0
-- expect: converted
SELECT id, rand(3) AS n FROM small_files WHERE id > 10;
-- expect: converted
SELECT k FROM (SELECT k FROM raising WHERE k > 10) TABLESAMPLE (30 PERCENT) REPEATABLE (5);
-- expect: partly (?i)rand
SELECT k, rand(3) AS n FROM (SELECT k FROM raising UNION ALL SELECT k + 1 FROM raising);
SELECT k, rand(3) AS n FROM (SELECT /*+ REPARTITION(3, g) */ k FROM raising);
SELECT k, rand(3) AS n FROM (SELECT a.k FROM raising a JOIN tame b ON a.g = b.i);
SELECT k, rand(3) AS n FROM (SELECT /*+ BROADCAST(b) */ a.k FROM raising a JOIN tame b ON a.g = b.id);
-- expect: partly BroadcastHashJoin: .*placement
SELECT k, id, rand(3) AS n FROM (SELECT /*+ BROADCAST(b) */ a.k, b.id FROM raising a JOIN tame b ON a.g = b.z);
-- expect: converted
SELECT k, rand(3) AS n FROM (SELECT /*+ BROADCAST(b) */ a.k FROM raising a LEFT SEMI JOIN tame b ON a.g = b.z);
SELECT k, randn(3) AS n FROM (SELECT a.k FROM raising a LEFT JOIN tame b ON a.g = b.id AND b.id < 5);
SELECT k FROM (SELECT a.k FROM raising a JOIN raising b ON a.g = b.k) TABLESAMPLE (30 PERCENT) REPEATABLE (5);
SELECT k % 100 AS k, rand(3) AS n FROM (SELECT k, count(*) FROM raising GROUP BY k);
SELECT g, a, rand(3) AS n FROM (SELECT g, a, count(*) FROM raising GROUP BY ROLLUP(g, a));
SELECT g, sum(n) FROM (SELECT g, monotonically_increasing_id() AS n FROM (SELECT g, k % 50 AS b, count(*) FROM raising GROUP BY ALL)) GROUP BY g;
-- Without a seed of the user's any number will do.
SELECT count(*) FROM (SELECT k FROM (SELECT DISTINCT k FROM raising) WHERE rand() < 2);
