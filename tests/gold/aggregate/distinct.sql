-- DISTINCT inside aggregates: one column as Spark plans it in four steps, several columns by expanding rows.
-- tables: tame, keys, texts
-- matrix: ansi=true ; aqe=true,false
-- floats: approximate

SELECT count(DISTINCT i) FROM tame;
SELECT k, count(DISTINCT i) FROM tame GROUP BY k;
SELECT k, count(DISTINCT i), sum(DISTINCT i), avg(DISTINCT i) FROM tame GROUP BY k;
SELECT k, count(DISTINCT i), count(*), sum(l), avg(n9), min(d) FROM tame GROUP BY k;
SELECT count(DISTINCT i, z), count(*) FROM tame;
SELECT k, count(DISTINCT i, z, b) FROM tame GROUP BY k;
SELECT count(DISTINCT str), count(str) FROM keys;
-- expect: any
SELECT count(DISTINCT d), count(DISTINCT f) FROM keys WHERE d IS NULL;
SELECT b, count(DISTINCT str) FROM keys GROUP BY b;
-- expect: any
SELECT count(DISTINCT n38), sum(DISTINCT n9) FROM keys WHERE n9 < 1000;
SELECT b, sum(DISTINCT n18) FROM tame GROUP BY b;
-- expect: any
SELECT count(DISTINCT i), count(DISTINCT z) FROM tame;
-- expect: any
SELECT k, count(DISTINCT i), count(DISTINCT l), sum(n9), count(*) FROM tame GROUP BY k;
-- expect: any
SELECT k, count(DISTINCT i) FILTER (WHERE b), sum(i) FILTER (WHERE NOT b) FROM tame GROUP BY k;
-- expect: any
SELECT count(DISTINCT s), count(DISTINCT flag), max(id) FROM texts;
SELECT count(DISTINCT i) FROM tame WHERE id < 0;
SELECT k, count(DISTINCT i) FROM tame WHERE id < 0 GROUP BY k;
SELECT DISTINCT count(*) FROM tame GROUP BY k;
SELECT count(*) FROM (SELECT DISTINCT k, i FROM tame);
