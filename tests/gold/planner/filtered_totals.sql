-- Global aggregations that read the same rows with different filters.
-- tables: tame, times, empty, numbers
-- matrix: ansi=true,false ; aqe=true,false

-- Q9 and Q88 of TPC-DS: scalar subqueries, and aggregations that are joined.
SELECT CASE WHEN (SELECT count(*) FROM tame WHERE i BETWEEN 1 AND 20) > 3 THEN (SELECT avg(n9) FROM tame WHERE i BETWEEN 1 AND 20) ELSE (SELECT avg(n15) FROM tame WHERE i BETWEEN 1 AND 20) END AS a, CASE WHEN (SELECT count(*) FROM tame WHERE i BETWEEN 21 AND 40) > 3 THEN (SELECT avg(n9) FROM tame WHERE i BETWEEN 21 AND 40) ELSE (SELECT avg(n15) FROM tame WHERE i BETWEEN 21 AND 40) END AS b FROM tame WHERE id = 1;
SELECT * FROM (SELECT count(*) AS a FROM tame x JOIN tame y ON x.id = y.i WHERE y.z = 1) s, (SELECT count(*) AS b FROM tame x JOIN tame y ON x.id = y.i WHERE y.z = 2) t, (SELECT count(*) AS c FROM tame x JOIN tame y ON x.id = y.i WHERE y.z IS NULL) u;
SELECT * FROM (SELECT count(*) AS a, sum(x.n9) AS v FROM tame x JOIN tame y ON x.id = y.i WHERE x.z > 0 AND y.z = 1) s, (SELECT count(*) AS b, max(y.l) AS w FROM tame x JOIN tame y ON x.id = y.i WHERE y.z <> 1 AND x.z > 0) t;
SELECT a.v + b.v AS v, a.n, b.n FROM (SELECT sum(n18) AS v, count(k) AS n FROM tame WHERE z = 1) a JOIN (SELECT sum(n18) AS v, count(k) AS n FROM tame WHERE z = 2) b ON a.n <> b.n;
SELECT 'one' AS name, count(*) AS n, min(k) AS k FROM tame WHERE z = 1 UNION ALL SELECT 'two', count(*), min(k) FROM tame WHERE z = 2 UNION ALL SELECT 'many', count(*), min(k) FROM tame WHERE z > 2;
-- Decimals of every width, floats in their order, dates, NULLs.
SELECT * FROM (SELECT sum(n9) AS a, avg(n9) AS b, sum(n38) AS c, avg(n38) AS d, sum(d) AS e, avg(f) AS f, stddev(d) AS g FROM tame WHERE i > 5), (SELECT sum(n9), avg(n9), sum(n38), avg(n38), sum(d), avg(f), stddev(d) FROM tame WHERE i <= 5) AS t(h, i, j, k, l, m, n);
SELECT * FROM (SELECT min(d) AS a, max(f) AS b, count(d) AS c FROM tame WHERE isnan(d) OR d IS NULL), (SELECT min(d) AS e, max(f) AS f, count(d) AS g FROM tame WHERE d > 0);
SELECT (SELECT max(ts) FROM times WHERE days > 3) AS a, (SELECT to_json(struct(max(d), min(ntz))) FROM times WHERE days <= 3 OR days IS NULL) AS b;
SELECT (SELECT count(*) FROM tame WHERE k = 'a') AS a, (SELECT count(*) FROM tame WHERE k IN ('b', 'c')) AS b, (SELECT count(*) FROM tame WHERE k LIKE 'a%') AS c, (SELECT count(*) FROM tame WHERE NOT k > 'b') AS d;
-- Functions twice, several columns, expressions above, filters with common parts and projections below.
SELECT (SELECT sum(i) + max(z) * 2 FROM tame WHERE s > 1 AND id > 3) AS a, (SELECT max(z) - sum(i) FROM tame WHERE id > 3 AND s <= 1) AS b, (SELECT to_json(struct(sum(i), sum(i), count(*))) FROM tame WHERE id > 3 AND s < -1) AS c;
SELECT (SELECT sum(x) FROM (SELECT i + s AS x, id FROM tame) WHERE id > 5) AS a, (SELECT sum(y) FROM (SELECT i + s AS y, id FROM tame) WHERE id <= 5) AS b, (SELECT sum(x) FROM (SELECT i - s AS x, id FROM tame) WHERE id <= 5) AS c;
SELECT (SELECT sum(i) FROM tame WHERE z = 1 AND (SELECT count(*) AS m FROM tame WHERE z = 2) > 0) AS a, (SELECT count(*) FROM tame WHERE z = 1) AS b;
-- In a subquery that has several, and below one row of another table.
SELECT id FROM tame WHERE id < (SELECT a.n + b.n FROM (SELECT count(*) AS n FROM tame WHERE z = 1) a, (SELECT count(*) AS n FROM tame WHERE z = 2) b);
SELECT t.id, a.n, b.n FROM tame t JOIN (SELECT count(*) AS n FROM tame WHERE z = 1) a ON t.id = a.n JOIN (SELECT count(*) AS n FROM tame WHERE z = 2) b ON b.n > t.z;
SELECT n, count(*) AS m FROM (SELECT count(*) AS n FROM tame WHERE z = 1 UNION ALL SELECT count(*) FROM tame WHERE z = 2) GROUP BY n;
SELECT a.n, b.n FROM (SELECT count(*) AS n FROM tame WHERE z = 1) a LEFT JOIN (SELECT count(*) AS n FROM tame WHERE z = 7777) b ON a.n < b.n;
-- No rows.
SELECT (SELECT count(*) FROM empty WHERE id = 1) AS a, (SELECT sum(n) FROM empty WHERE id = 2) AS b, (SELECT to_json(struct(count(*), max(s))) FROM empty WHERE id = 3) AS c;
SELECT * FROM (SELECT count(*) AS a, sum(i) AS b FROM tame WHERE id > 5000), (SELECT count(*) AS c, max(k) AS d FROM tame WHERE id < -5000);
-- Conditions or arguments that raise for rows that another filter keeps.
SELECT (SELECT count(*) FROM tame WHERE z <> 0 AND 100 / z > 20) AS a, (SELECT count(*) FROM tame WHERE z = 0) AS b;
SELECT (SELECT sum(100 / z) FROM tame WHERE z <> 0) AS a, (SELECT sum(i) FROM tame WHERE z = 0) AS b;
SELECT (SELECT sum(q) FROM (SELECT 100 / z AS q, z FROM tame WHERE z <> 0) WHERE z > 1) AS a, (SELECT sum(q) AS s FROM (SELECT 100 / z AS q, z FROM tame WHERE z <> 0) WHERE z < 1) AS b;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT * FROM (SELECT sum(100 / z) AS a FROM tame WHERE id > 5), (SELECT sum(i) AS b FROM tame WHERE id <= 5);
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT * FROM (SELECT sum(l) AS a FROM numbers WHERE i > 0), (SELECT sum(l) AS b FROM numbers WHERE i <= 0);
-- Not merged: other columns, functions of distinct values, groups, filters of their own, random numbers.
SELECT (SELECT count(*) FROM tame WHERE z = 1) AS a, (SELECT count(*) FROM tame WHERE i = 2) AS b, (SELECT count(*) FROM tame) AS c;
SELECT (SELECT count(DISTINCT k) FROM tame WHERE z = 1) AS a, (SELECT count(DISTINCT k) FROM tame WHERE z = 2) AS b;
SELECT (SELECT count(*) FILTER (WHERE i > 3) FROM tame WHERE z = 1) AS a, (SELECT count(*) FILTER (WHERE i > 3) FROM tame WHERE z = 2) AS b;
SELECT (SELECT count(*) FROM tame x LEFT JOIN tame y ON x.id = y.i WHERE x.z = 1) AS a, (SELECT count(*) FROM tame x LEFT JOIN tame y ON x.id = y.i WHERE x.z = 2) AS b;
SELECT (SELECT count(*) FROM tame WHERE z = 1 AND rand(5) < 2) AS a, (SELECT count(*) AS m FROM tame WHERE z = 2 AND rand(5) < 2) AS b;
