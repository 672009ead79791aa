-- COALESCE(n): the number of partitions, their rows and the order of the rows are Spark's.
-- tables: tame, numbers, empty, small_files, batch_plus_one, raising
-- matrix: ansi=true,false ; aqe=true,false
-- answers: by plan
-- set: spark.sql.files.maxPartitionBytes=10000 ; spark.sql.files.openCostInBytes=0

SELECT /*+ COALESCE(1) */ id, i FROM small_files;
SELECT /*+ COALESCE(3) */ id, n18, d, b FROM small_files WHERE id % 7 > 1;
SELECT /*+ COALESCE(1000) */ id FROM small_files;
SELECT /*+ COALESCE(2) */ id, n FROM batch_plus_one;
SELECT /*+ COALESCE(1) */ id, s, d FROM empty;
SELECT count(*), sum(i) FROM (SELECT /*+ COALESCE(2) */ i FROM small_files);
SELECT g, count(*), sum(n) FROM (SELECT /*+ COALESCE(1) */ g, n FROM batch_plus_one) GROUP BY g;
SELECT /*+ COALESCE(4) */ id, id + 1 AS x FROM range(0, 100, 3, 11);
SELECT /*+ COALESCE(1) */ id FROM range(0);
SELECT /*+ COALESCE(2) */ id FROM range(0);
SELECT count(*) FROM (SELECT /*+ COALESCE(1) */ id FROM range(0));
SELECT count(*) FROM (SELECT /*+ COALESCE(1) */ id FROM range(1, 1, 1, 5));
SELECT /*+ COALESCE(3) */ id FROM (SELECT /*+ COALESCE(5) */ id FROM small_files) WHERE id > 3;
SELECT /*+ COALESCE(2) */ id, i FROM (SELECT /*+ REPARTITION(7, i) */ id, i FROM small_files);
SELECT i, count(*) FROM (SELECT /*+ COALESCE(2) */ i FROM (SELECT /*+ REPARTITION(7, i) */ i FROM small_files)) GROUP BY i;
SELECT /*+ COALESCE(2) */ id, k FROM (SELECT /*+ BROADCAST(b) */ a.id, b.k FROM small_files a JOIN tame b ON a.i = b.i);
SELECT id FROM (SELECT /*+ COALESCE(2) */ id FROM small_files) UNION ALL SELECT id FROM (SELECT /*+ COALESCE(3) */ id FROM small_files);
SELECT a.id, b.id FROM (SELECT /*+ COALESCE(1) */ id FROM small_files) a JOIN (SELECT /*+ COALESCE(1) */ id FROM small_files) b USING (id);
SELECT k, max(i) OVER (PARTITION BY k) AS m FROM (SELECT /*+ COALESCE(1) */ k, i FROM tame);
-- What depends on the partitions reads those of Spark.
SELECT id, spark_partition_id() AS p, monotonically_increasing_id() AS n FROM (SELECT /*+ COALESCE(4) */ id FROM small_files);
SELECT id, rand(5) AS r FROM (SELECT /*+ COALESCE(4) */ id FROM small_files WHERE id > 5);
SELECT id, spark_partition_id() AS p FROM (SELECT /*+ COALESCE(2) */ id FROM range(0, 100, 3, 11));
-- expect[aqe=true]: any
-- expect[aqe=false]: converted
SELECT id, spark_partition_id() AS p FROM (SELECT /*+ COALESCE(3) */ id FROM (SELECT /*+ REPARTITION(7, i) */ id, i FROM small_files));
SELECT id FROM (SELECT /*+ COALESCE(3) */ id FROM small_files) TABLESAMPLE (50 PERCENT) REPEATABLE (3);
-- expect: partly coalesced partitions of Sample are not supported
SELECT /*+ COALESCE(3) */ id FROM (SELECT id FROM small_files TABLESAMPLE (50 PERCENT) REPEATABLE (3));
-- Operators that combine rows see the partitions one by one, in Spark's operator.
-- expect: partly coalesced partitions of HashAggregate are not supported
SELECT /*+ COALESCE(2) */ k, count(*) FROM tame GROUP BY k;
-- expect: partly coalesced partitions of Union are not supported
SELECT /*+ COALESCE(2) */ id FROM (SELECT id FROM small_files UNION ALL SELECT id FROM range(9));
-- expect: partly coalesced partitions of GlobalLimit are not supported
SELECT /*+ COALESCE(2) */ id > 0 AS x FROM (SELECT id FROM small_files LIMIT 9);
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT /*+ COALESCE(1) */ k, 1 / a AS q FROM raising;
