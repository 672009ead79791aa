-- Rows that do not come from files: VALUES, one row, range, generators.
-- tables: tame
-- matrix: ansi=true ; aqe=true,false
-- set: spark.sql.optimizer.excludedRules=org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation ; spark.pysparkPipeline.jvmInput=always

SELECT a, count(*), sum(b) FROM VALUES (1, 2.5), (1, NULL), (NULL, 1.0), (2, -3.25) AS t(a, b) GROUP BY a;
SELECT a + 1, b FROM VALUES (1, 'x'), (NULL, 'é'), (3, NULL) AS t(a, b) WHERE a IS NULL OR b IS NOT NULL;
SELECT count(*), sum(id), min(id), max(id) FROM range(100000);
SELECT id % 7 AS k, count(*), sum(id) FROM range(0, 10000, 3, 5) GROUP BY id % 7;
SELECT id FROM range(10, -10, -3) WHERE id % 2 = 0;
SELECT count(*) FROM range(5, 5);
SELECT sum(id) FROM range(9223372036854775800, 9223372036854775807) WHERE id > 9223372036854775805;
-- expect: partly Generate
SELECT k, count(*) FROM (SELECT k, explode(array_sort(array(1, 2, z), (x, y) -> 0)) AS x FROM tame) WHERE x > 1 GROUP BY k;
SELECT x, count(*) FROM (SELECT CAST(id % 3 AS DECIMAL(10,2)) AS x FROM range(50)) GROUP BY x;
SELECT d, count(*) FROM VALUES (double('NaN')), (double('NaN')), (0.0D), (-0.0D), (NULL) AS t(d) GROUP BY d;
SELECT t, count(*) FROM VALUES (TIMESTAMP'2024-01-01 00:00:00'), (TIMESTAMP'0002-01-01 00:00:00') AS t(t) GROUP BY t;
SELECT b, count(*) FROM VALUES (X'00'), (X''), (NULL) AS t(b) GROUP BY b;
SELECT count(*), sum(a) FROM VALUES (CAST(1 AS TINYINT)), (CAST(NULL AS TINYINT)) AS t(a) WHERE a = 1 OR a IS NULL;
SELECT count(*) FROM VALUES (1), (2), (NULL) AS t(a);
SELECT a, spark_partition_id() AS p, monotonically_increasing_id() AS m FROM VALUES (1), (2), (3), (4), (5) AS t(a);
SELECT /*+ COALESCE(1) */ a, a + 1 AS b FROM VALUES (3), (1), (2), (NULL) AS t(a);
SELECT a, b, c, d FROM VALUES (array(1, NULL), map('a', 1), named_struct('x', 1, 'y', DATE'1500-02-28'), 1.50BD), (NULL, NULL, NULL, NULL), (array(), map(), named_struct('x', NULL, 'y', DATE'0001-01-01'), -0.01BD) AS t(a, b, c, d) WHERE size(a) < 5 OR a IS NULL;
SELECT a, b, c, d FROM VALUES (NULL, TIME'10:00:00.5', TIMESTAMP_NTZ'1582-10-10 00:00:00', X'00FF'), (NULL, NULL, NULL, X'') AS t(a, b, c, d);
SELECT a FROM VALUES (1), (2) AS t(a) WHERE false;
SELECT t.a, u.c FROM VALUES (1, 'x'), (2, 'y'), (3, NULL) AS t(a, b) LEFT JOIN VALUES ('x', 10), ('x', 11), ('z', 3) AS u(b, c) ON t.b = u.b;
-- rows: ordered
SELECT a, row_number() OVER (ORDER BY a DESC) AS n FROM VALUES (3), (1), (2), (3) AS t(a) ORDER BY n;
SELECT id FROM tame WHERE id < 3 UNION ALL SELECT a FROM VALUES (7), (NULL) AS t(a) UNION ALL SELECT 1 - spark_partition_id();
SELECT rand(3) < 1 AS a, spark_partition_id() AS b, uuid() IS NULL AS c;
SELECT explode(array(1, NULL, 3)) AS x;
SELECT (SELECT max(k) FROM tame) AS x, spark_partition_id() AS y;
-- expect: declined interval
SELECT string(a) AS a FROM VALUES (make_interval(1, 2)), (NULL) AS t(a);
