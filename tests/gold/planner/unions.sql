-- UNION ALL: a task runs one branch. Branches of scans, aggregates, joins, other unions, of different partition counts.
-- tables: tame, numbers, texts, small_files, empty
-- matrix: ansi=true ; aqe=true,false

SELECT id FROM tame UNION ALL SELECT id FROM numbers;
SELECT id, i FROM tame WHERE i > 0 UNION ALL SELECT id, i FROM numbers WHERE i < 0 UNION ALL SELECT z, t FROM tame;
-- The same file read twice, and the same column by two names.
SELECT id AS x, z AS y FROM tame UNION ALL SELECT z, id FROM tame;
-- Types are widened, a column that is never NULL meets one that is.
SELECT t AS x FROM tame UNION ALL SELECT l FROM tame UNION ALL SELECT id FROM numbers;
SELECT n9 AS x FROM tame UNION ALL SELECT n18 FROM tame;
SELECT 1 AS x FROM tame UNION ALL SELECT i FROM tame;
SELECT k, NULL AS i FROM tame UNION ALL SELECT NULL, i FROM tame;
-- Many files in one branch, few in the other.
SELECT i FROM small_files UNION ALL SELECT i FROM tame;
SELECT count(*), sum(i), min(i), max(i) FROM (SELECT i FROM small_files UNION ALL SELECT i FROM tame UNION ALL SELECT t FROM tame);
SELECT i, count(*) FROM (SELECT i FROM small_files UNION ALL SELECT i FROM tame) GROUP BY i;
SELECT k, sum(x) FROM (SELECT k, i AS x FROM tame UNION ALL SELECT flag, len FROM texts WHERE len < 10) GROUP BY k;
-- Aggregates, of the same and of different keys, above and below.
SELECT k, count(*) AS c FROM tame GROUP BY k UNION ALL SELECT 'all', count(*) FROM tame;
SELECT sum(c) FROM (SELECT k, count(*) AS c FROM tame GROUP BY k UNION ALL SELECT flag, count(*) FROM texts GROUP BY flag);
-- Shuffled branches of 2, 3 and 5 partitions.
SELECT /*+ REPARTITION(2) */ id FROM tame UNION ALL SELECT /*+ REPARTITION(3, i) */ id FROM numbers UNION ALL SELECT /*+ REPARTITION(5, s) */ id FROM texts;
SELECT count(*), sum(id) FROM (SELECT /*+ REPARTITION(2) */ id FROM tame UNION ALL SELECT id FROM numbers UNION ALL SELECT /*+ REPARTITION(5, s) */ id FROM texts);
-- Distinct union, and a union inside a union.
SELECT id FROM tame WHERE id < 5 UNION SELECT id FROM numbers WHERE id < 8;
SELECT k, z FROM tame UNION SELECT k, z FROM tame UNION SELECT flag, id FROM texts WHERE id < 3;
SELECT x FROM (SELECT id AS x FROM tame UNION SELECT z FROM tame) UNION ALL SELECT i FROM tame;
SELECT d, f FROM tame UNION SELECT d, f FROM numbers;
-- Empty branches.
SELECT id FROM tame WHERE id < 0 UNION ALL SELECT id FROM tame WHERE id > 200;
SELECT count(*) FROM (SELECT id FROM tame WHERE id < 0 UNION ALL SELECT id FROM tame WHERE id < -1);
SELECT id FROM tame WHERE false UNION ALL SELECT id FROM tame WHERE id > 200;
SELECT i, count(*) FROM (SELECT id AS i FROM empty UNION ALL SELECT i FROM tame) GROUP BY i;
SELECT k, c FROM (SELECT k, count(*) AS c FROM tame WHERE id < 0 GROUP BY k) UNION ALL SELECT k, z FROM tame WHERE id < 4;
-- Joins above, below, on both sides.
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.x, b.id FROM (SELECT id AS x FROM tame WHERE id < 9 UNION ALL SELECT z FROM tame WHERE id < 30) a JOIN tame b ON a.x = b.z;
SELECT /*+ BROADCAST(b) */ a.x, b.id FROM (SELECT id AS x FROM tame WHERE id < 9 UNION ALL SELECT z FROM tame WHERE id < 30) a JOIN tame b ON a.x = b.z;
SELECT /*+ BROADCAST(b) */ a.id, b.x FROM tame a JOIN (SELECT id AS x FROM tame WHERE id < 9 UNION ALL SELECT z FROM tame WHERE id < 30) b ON a.z = b.x;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, b.id FROM tame a JOIN tame b ON a.id = b.i UNION ALL SELECT a.id, b.z FROM tame a LEFT JOIN tame b ON a.i = b.id AND b.z > 0;
SELECT a.id, b.id FROM tame a JOIN tame b ON a.id = b.i UNION ALL SELECT a.id, b.z FROM tame a LEFT JOIN tame b ON a.i = b.id AND b.z > 0;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT k, count(*) FROM (SELECT a.k FROM tame a JOIN tame b ON a.id = b.i UNION ALL SELECT flag FROM texts UNION ALL SELECT k FROM tame WHERE z = 1) GROUP BY k;
SELECT x FROM tame JOIN (SELECT 1 AS x UNION ALL SELECT 2) ON x = z;
-- A sort and first rows over a union.
-- rows: ordered
SELECT id, 'a' AS s FROM tame WHERE id < 50 UNION ALL SELECT id, 'b' FROM numbers WHERE id < 70 ORDER BY id, s LIMIT 20;
-- rows: ordered
SELECT x, s FROM (SELECT id AS x, 'a' AS s FROM tame UNION ALL SELECT i, 'b' FROM tame) ORDER BY x, s;
SELECT count(*) FROM (SELECT id FROM tame UNION ALL SELECT id FROM numbers LIMIT 11);
-- Branches that stay in Spark, and a union that keeps what its branches are distributed by.
-- expect: partly Generate
SELECT id FROM tame UNION ALL SELECT explode(array_sort(array(id, z), (x, y) -> 0)) FROM tame;
-- expect: partly Generate
SELECT x, count(*) FROM (SELECT id AS x FROM tame UNION ALL SELECT explode(array_sort(array(id, z), (x, y) -> 0)) FROM tame) GROUP BY x;
SELECT id FROM tame WHERE id < 3 UNION ALL SELECT id FROM range(5) UNION ALL SELECT a FROM VALUES (7), (NULL) AS t(a);
-- expect: partly UnionLoop
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 6) SELECT t.id, r.n FROM r JOIN tame t ON t.id = r.n;
SELECT k, count(*) FROM tame GROUP BY k UNION ALL SELECT flag, count(*) FROM texts GROUP BY flag;
-- set: spark.sql.unionOutputPartitioning=false
SELECT k, count(*) FROM tame GROUP BY k UNION ALL SELECT flag, count(*) FROM texts GROUP BY flag;
SELECT z, count(*) AS c FROM tame GROUP BY z UNION ALL SELECT i, sum(c) FROM (SELECT i, k, count(*) AS c FROM tame GROUP BY i, k) GROUP BY i;
-- set: spark.sql.unionOutputPartitioning=false
SELECT z, count(*) AS c FROM tame GROUP BY z UNION ALL SELECT i, sum(c) FROM (SELECT i, k, count(*) AS c FROM tame GROUP BY i, k) GROUP BY i;
SELECT k, sum(c) FROM (SELECT k, count(*) AS c FROM tame GROUP BY k UNION ALL SELECT k, sum(z) FROM tame GROUP BY k) GROUP BY k;
-- set: spark.sql.unionOutputPartitioning=false
SELECT k, sum(c) FROM (SELECT k, count(*) AS c FROM tame GROUP BY k UNION ALL SELECT k, sum(z) FROM tame GROUP BY k) GROUP BY k;
SELECT count(*) FROM ((SELECT id FROM tame LIMIT 7) UNION ALL (SELECT id FROM numbers LIMIT 5));
-- set: spark.sql.unionOutputPartitioning=false
SELECT count(*) FROM ((SELECT id FROM tame LIMIT 7) UNION ALL (SELECT id FROM numbers LIMIT 5));
