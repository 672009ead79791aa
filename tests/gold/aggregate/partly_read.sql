-- Aggregate functions that evaluate their argument only in some rows: it fails in others.
-- tables: tame, texts
-- matrix: ansi=true,false ; batch=7

-- A failing row that is not the first of its group, nor has the extreme when it is added.
SELECT max_by(1 / (id - 50), -id) AS a, min_by(1 / (id - 50), id) AS b, first(1 / (id - 50)) AS c, any_value(1 / (id - 50)) AS d FROM tame WHERE id < 60;
SELECT z, max_by(1 / (id - 50), -id) AS a, min_by(1 / (id - 50), id) AS b FROM tame WHERE id < 60 GROUP BY z;
SELECT k, first(CAST(concat(if(id % 70 = 69, 'x', ''), id) AS INT)) IS NULL AS c FROM tame WHERE id < 70 GROUP BY k;
-- Orderings of every type, NULL in some rows.
SELECT min_by(1 / (id - 50), CAST(id AS DECIMAL(30, 2))) AS a, min_by(1 / (id - 50), lpad(id, 5, '0')) AS b, min_by(1 / (id - 50), CAST(id AS DOUBLE)) AS c, min_by(1 / (id - 50), struct(id, k)) AS d, min_by(1 / (id - 50), array(id)) AS e, min_by(1 / (id - 50), id >= 50) AS f FROM tame WHERE id < 60 AND id <> 49;
SELECT max_by(1 / (id - 50), nullif(-id, -50)) AS a, min_by(1 / (id - 50), if(id = 50, NULL, id)) AS b FROM tame WHERE id < 60;
-- FILTER, other functions, and the same argument read by a function that reads all rows.
SELECT z, min_by(1 / (id - 50), id) FILTER (WHERE id <> 3) AS a, count(*) AS n, sum(i) AS s, max(k) FILTER (WHERE z > 0) AS m FROM tame WHERE id < 60 GROUP BY z;
SELECT z, min_by(1 / (id - 50), id) FILTER (WHERE id > 40) AS a, first(10 / (id - 57)) FILTER (WHERE id > 30) AS b FROM tame WHERE id < 60 GROUP BY z;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT z, min_by(100 / (id - 50), id) AS a, sum(100 / (id - 50)) AS b FROM tame WHERE id < 60 GROUP BY z;
-- The failing row has the extreme.
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT max_by(1 / (id - 50), -abs(id - 50)) AS a FROM tame WHERE id < 60;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT max_by(1 / (id - 59), id) AS a FROM tame WHERE id < 60;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT first(1 / id) AS a FROM tame WHERE id < 60;
-- IGNORE NULLS reads rows until one is not NULL.
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT first(1 / (id - 0), true) AS a FROM tame WHERE id < 60;
SELECT count(DISTINCT z) AS n, min_by(1 / (id - 50), id) AS a FROM tame WHERE id < 60;
