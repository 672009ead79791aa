-- Scalar subqueries, CTEs read twice (exchange reuse), views of views, self unions.
-- tables: tame, numbers
-- matrix: ansi=true ; aqe=true,false

SELECT id FROM tame WHERE i > (SELECT avg(i) FROM tame);
SELECT id, (SELECT max(i) FROM tame) AS m FROM tame WHERE id < 10;
SELECT count(*) FROM tame WHERE i = (SELECT min(i) FROM tame WHERE id < 0);
SELECT k, sum(i) FROM tame GROUP BY k HAVING sum(i) > (SELECT sum(z) FROM tame);
SELECT id FROM tame WHERE (SELECT true) AND i > 0;
WITH a AS (SELECT k, sum(i) AS s, count(*) AS c FROM tame GROUP BY k)
SELECT x.k, x.s, y.c FROM a x JOIN a y ON x.k <=> y.k;
WITH a AS (SELECT k, sum(i) AS s FROM tame GROUP BY k) SELECT * FROM a UNION ALL SELECT * FROM a;
WITH a AS (SELECT i, d FROM numbers WHERE i > 0) SELECT count(*) FROM a WHERE d > 0 AND i < (SELECT max(i) FROM a);
SELECT a.k, a.s FROM (SELECT k, sum(n9) AS s FROM tame GROUP BY k) a WHERE a.s = (SELECT max(s) FROM (SELECT k, sum(n9) AS s FROM tame GROUP BY k));
SELECT count(*) FROM tame a WHERE i > (SELECT avg(b.i) FROM tame b WHERE b.k = a.k);
-- Spark merges subqueries over the same rows into one with a struct, of which each reads a field.
SELECT id, CASE WHEN (SELECT count(*) FROM tame WHERE i < 20) > 5 THEN (SELECT avg(i) FROM tame WHERE i < 20) ELSE (SELECT min(d) FROM tame WHERE i < 20) END AS x FROM tame WHERE id < 5;
SELECT id FROM tame WHERE i > (SELECT avg(i) FROM tame) AND d < (SELECT max(d) FROM tame) AND coalesce((SELECT max(k) FROM tame WHERE id < 0), 'none') <> k;
SELECT id FROM tame WHERE d > (SELECT avg(d) FROM tame) AND n38 < (SELECT max(n38) FROM tame) AND b = (SELECT bool_or(b) FROM tame) AND z < (SELECT count(*) FROM tame);
SELECT id FROM tame WHERE k > (SELECT min(k) FROM tame WHERE id < 0) OR i > (SELECT sum(i) FROM tame WHERE id < 0) OR id < (SELECT count(*) FROM tame WHERE id < 0) + 3;
