-- count, sum, avg, min, max of every type, without keys and with one.
-- tables: tame, numbers, keys, times, texts
-- matrix: ansi=true
-- floats: approximate

SELECT count(*), count(i), count(nothing), count(1) FROM numbers;
SELECT sum(t), sum(s), sum(i), sum(z) FROM tame;
SELECT sum(l), sum(n9), sum(n15), sum(n18), sum(n38) FROM tame;
SELECT sum(f), sum(d), avg(f), avg(d) FROM tame;
SELECT avg(t), avg(i), avg(l), avg(n9), avg(n15), avg(n18) FROM tame;
SELECT avg(n38), avg(CAST(n9 AS DECIMAL(12,4))), sum(CAST(n9 AS DECIMAL(7,2))), avg(CAST(n9 AS DECIMAL(7,2))) FROM tame;
SELECT min(t), max(t), min(s), max(s), min(i), max(i), min(l), max(l) FROM numbers;
SELECT min(f), max(f), min(d), max(d) FROM numbers;
SELECT min(n9), max(n9), min(n18), max(n18), min(n38), max(n38), min(n380), max(n380) FROM numbers;
SELECT min(b), max(b), min(nothing), max(nothing), sum(nothing), avg(nothing) FROM numbers;
SELECT min(d), max(d), min(ts), max(ts), min(ntz), max(ntz) FROM times;
-- Spark aggregates strings by sorting.
-- expect: any
SELECT min(s), max(s), min(flag), max(flag), count(s) FROM texts;
-- expect: any
SELECT flag, min(s), max(s2) FROM texts GROUP BY flag;
-- expect: any
SELECT min(bin), max(bin) FROM texts;
SELECT k, count(*), count(i), sum(i), avg(i), min(i), max(i) FROM tame GROUP BY k;
SELECT k, sum(n9), avg(n9), sum(n38), avg(n18), min(n15), max(n15) FROM tame GROUP BY k;
SELECT k, avg(CAST(n9 AS DECIMAL(12,2))), avg(CAST(n9 AS DECIMAL(13,0))), avg(CAST(i AS DECIMAL(14,5))) FROM tame GROUP BY k;
SELECT k, sum(d), avg(d), min(d), max(d), sum(f), avg(f) FROM tame GROUP BY k;
SELECT k, sum(i + 1), avg(i * n9), sum(CASE WHEN b THEN 1 ELSE 0 END), max(coalesce(i, 0)) FROM tame GROUP BY k;
SELECT sum(i) + count(*) * 2 AS x, avg(i) > 3 AS y FROM tame;
SELECT k, sum(i) / count(i) AS x, max(l) - min(l) AS y FROM tame GROUP BY k;
SELECT b, b2, count(*), max(i) FROM numbers GROUP BY b, b2;
SELECT k FROM tame GROUP BY k;
SELECT DISTINCT k, b FROM tame;
SELECT DISTINCT z FROM tame WHERE i > 0;
SELECT k, z, count(*) FROM tame GROUP BY z, k;
SELECT z, z + 1, count(*), sum(z) FROM tame GROUP BY z;
SELECT 'c' AS c, count(*) FROM tame GROUP BY 1;
-- NaN is a value like others, and larger than all.
SELECT sum(d), avg(d), min(d), max(d), count(d) FROM numbers WHERE d = double('NaN') OR d < 0;
SELECT i, max(d), min(d), max(f) FROM numbers GROUP BY i;
-- zeros: unsigned
SELECT min(d), max(d), sum(d) FROM numbers WHERE d = 0;
SELECT avg(l), sum(d) FROM numbers WHERE d < double('Infinity') AND d > -1e300D;
