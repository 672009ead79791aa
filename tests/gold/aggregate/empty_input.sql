-- No rows: one row without keys, none with keys; NULL results, counts of 0.
-- tables: empty, tame, batch_plus_one
-- matrix: ansi=true ; aqe=true,false

SELECT count(*), count(id), sum(id), avg(id), min(d), max(d), sum(n), avg(n) FROM empty;
SELECT s, count(*), sum(n) FROM empty GROUP BY s;
SELECT count(*), sum(i), avg(n9), min(d) FROM tame WHERE id < 0;
SELECT k, count(*), sum(i) FROM tame WHERE id < 0 GROUP BY k;
SELECT DISTINCT k FROM tame WHERE id < 0;
SELECT count(DISTINCT id) FROM empty;
SELECT s, count(DISTINCT id), sum(d) FROM empty GROUP BY s;
SELECT sum(c) FROM (SELECT s, count(*) AS c FROM empty GROUP BY s);
SELECT count(*) + 1 AS x, coalesce(sum(n), 0) AS y FROM empty;
-- expect: any
SELECT * FROM empty WHERE id > 0;
-- expect: any
SELECT count(*) FROM tame WHERE 1 = 0;
