-- LIMIT and OFFSET: which rows is free, how many is not. Spark itself collects the rows of a limit that ends a query.
-- tables: tame, numbers, small_files
-- matrix: ansi=true ; aqe=true,false

SELECT count(*) FROM (SELECT * FROM numbers LIMIT 10);
SELECT count(*) FROM (SELECT * FROM numbers WHERE i > 0 LIMIT 1000000);
SELECT count(*), count(i) <= 7 FROM (SELECT i FROM small_files LIMIT 7);
SELECT count(*) FROM (SELECT k, count(*) FROM tame GROUP BY k LIMIT 2);
SELECT k IS NULL OR k IS NOT NULL AS x FROM tame LIMIT 3;
SELECT 1 AS one FROM numbers WHERE d > 0 LIMIT 5;
SELECT 1 AS one FROM numbers LIMIT 5 OFFSET 3;
-- expect: any
SELECT * FROM numbers LIMIT 0;
SELECT 1 AS one FROM numbers OFFSET 300;
SELECT count(*) FROM (SELECT * FROM numbers OFFSET 300);
SELECT count(*) FROM (SELECT * FROM numbers LIMIT 10 OFFSET 325);
SELECT count(*) FROM (SELECT * FROM numbers LIMIT 10 OFFSET 4);
SELECT count(*), count(k) > 0 FROM (SELECT k FROM tame LIMIT 100 OFFSET 60);
SELECT count(*) FROM (SELECT k, count(*) FROM tame GROUP BY k OFFSET 1);
SELECT count(*) FROM (SELECT * FROM numbers LIMIT 5 OFFSET 1000);
SELECT count(*) FROM (SELECT a.id FROM tame a JOIN tame b ON a.z = b.z LIMIT 13 OFFSET 2);
SELECT count(*) FROM ((SELECT id FROM tame LIMIT 20) UNION ALL (SELECT id FROM numbers LIMIT 9 OFFSET 2)) WHERE id IS NOT NULL;
SELECT i > 0 AS x FROM (SELECT /*+ REPARTITION(1) */ i FROM numbers WHERE i > 0) LIMIT 4;
SELECT one, count(*) FROM (SELECT 1 AS one FROM numbers LIMIT 12) GROUP BY one;
