-- Rows that do not come from files: VALUES, range, generators; they enter a fragment as Arrow input.
-- tables: tame
-- matrix: ansi=true ; aqe=true,false
-- set: spark.sql.optimizer.excludedRules=org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation ; spark.pysparkPipeline.jvmInput=always

-- expect: partly LocalTableScan
SELECT a, count(*), sum(b) FROM VALUES (1, 2.5), (1, NULL), (NULL, 1.0), (2, -3.25) AS t(a, b) GROUP BY a;
-- expect: partly LocalTableScan
SELECT a + 1, b FROM VALUES (1, 'x'), (NULL, 'é'), (3, NULL) AS t(a, b) WHERE a IS NULL OR b IS NOT NULL;
SELECT count(*), sum(id), min(id), max(id) FROM range(100000);
SELECT id % 7 AS k, count(*), sum(id) FROM range(0, 10000, 3, 5) GROUP BY id % 7;
SELECT id FROM range(10, -10, -3) WHERE id % 2 = 0;
SELECT count(*) FROM range(5, 5);
SELECT sum(id) FROM range(9223372036854775800, 9223372036854775807) WHERE id > 9223372036854775805;
-- expect: partly Generate
SELECT k, count(*) FROM (SELECT k, explode(array_sort(array(1, 2, z), (x, y) -> 0)) AS x FROM tame) WHERE x > 1 GROUP BY k;
SELECT x, count(*) FROM (SELECT CAST(id % 3 AS DECIMAL(10,2)) AS x FROM range(50)) GROUP BY x;
-- expect: partly LocalTableScan
SELECT d, count(*) FROM VALUES (double('NaN')), (double('NaN')), (0.0D), (-0.0D), (NULL) AS t(d) GROUP BY d;
-- expect: partly LocalTableScan
SELECT t, count(*) FROM VALUES (TIMESTAMP'2024-01-01 00:00:00'), (TIMESTAMP'0002-01-01 00:00:00') AS t(t) GROUP BY t;
-- expect: partly LocalTableScan
SELECT b, count(*) FROM VALUES (X'00'), (X''), (NULL) AS t(b) GROUP BY b;
-- expect: partly LocalTableScan
SELECT count(*), sum(a) FROM VALUES (CAST(1 AS TINYINT)), (CAST(NULL AS TINYINT)) AS t(a) WHERE a = 1 OR a IS NULL;
