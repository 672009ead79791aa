-- The same answers with Spark's whole-stage code generation switched off, and with tiny chunks.
-- tables: tame, numbers
-- matrix: ansi=true ; codegen=true,false ; batch=1,7

SELECT k, count(*), sum(n9), avg(i) FROM tame GROUP BY k;
SELECT id, i + z, n15 * n9 FROM tame WHERE z > 0 OR b;
SELECT count(DISTINCT i), sum(l) FROM tame;
SELECT /*+ REPARTITION(3, i) */ id, i, n380 FROM numbers;
