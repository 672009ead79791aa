-- LIMIT and OFFSET: which rows is free, how many is not.
-- tables: tame, numbers, small_files
-- matrix: ansi=true ; aqe=true,false
-- expect: some

SELECT count(*) FROM (SELECT * FROM numbers LIMIT 10);
SELECT count(*) FROM (SELECT * FROM numbers WHERE i > 0 LIMIT 1000000);
SELECT count(*), count(i) <= 7 FROM (SELECT i FROM small_files LIMIT 7);
SELECT count(*) FROM (SELECT k, count(*) FROM tame GROUP BY k LIMIT 2);
SELECT k IS NULL OR k IS NOT NULL AS x FROM tame LIMIT 3;
SELECT 1 AS one FROM numbers WHERE d > 0 LIMIT 5;
SELECT 1 AS one FROM numbers LIMIT 5 OFFSET 3;
-- expect: any
SELECT * FROM numbers LIMIT 0;
SELECT i > 0 AS x FROM (SELECT /*+ REPARTITION(1) */ i FROM numbers WHERE i > 0) LIMIT 4;
SELECT one, count(*) FROM (SELECT 1 AS one FROM numbers LIMIT 12) GROUP BY one;
