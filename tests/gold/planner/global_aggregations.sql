-- A global aggregation of a scalar subquery over the rows that another aggregation of the query groups.
-- tables: tame, times, empty, numbers
-- matrix: ansi=true,false ; aqe=true,false
-- set: spark.sql.autoBroadcastJoinThreshold=1

-- Q11 of TPC-H: the groups whose sum is a fraction of the total.
SELECT a.i, sum(a.n15 * b.z) AS v FROM tame a JOIN tame b ON a.id = b.id WHERE b.z > 0 GROUP BY a.i HAVING sum(a.n15 * b.z) > (SELECT sum(a.n15 * b.z) * 0.01 FROM tame a JOIN tame b ON a.id = b.id WHERE b.z > 0);
SELECT i, k, sum(n18) AS v FROM tame GROUP BY i, k HAVING sum(n18) * 7 > (SELECT sum(n18) FROM tame);
-- Decimals whose sums Spark adds as 64-bit integers, integers, and how many rows.
SELECT a.i, sum(CAST(a.n9 AS decimal(7, 2))) AS v, (SELECT sum(CAST(a.n9 AS decimal(7, 2))) FROM tame a JOIN tame b ON a.id = b.id) AS total FROM tame a JOIN tame b ON a.id = b.id GROUP BY a.i;
SELECT k, sum(t) AS a, sum(s) AS b, sum(i) AS c, (SELECT to_json(struct(sum(t), sum(s), sum(i))) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, count(*) AS n, count(i) AS m, (SELECT to_json(struct(count(i), count(*))) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, count(i, s) AS n FROM tame GROUP BY k HAVING count(i, s) < (SELECT count(i, s) / 4 FROM tame);
SELECT k, n FROM (SELECT k, count(*) AS n FROM tame WHERE z = 1 GROUP BY k) WHERE n * 10 > (SELECT count(*) + 1 FROM tame WHERE z = 1) OR k IS NULL;
-- Least and greatest values.
SELECT z, min(k) AS a, max(k) AS b, (SELECT concat(min(k), max(k)) FROM tame) AS all FROM tame GROUP BY z;
SELECT z, min(l) AS a, max(l) AS b, (SELECT max(l) - min(l) FROM tame) AS all FROM tame GROUP BY z;
SELECT days, min(d) AS a, max(ts) AS b, max(ntz) AS c, (SELECT to_json(struct(min(d), max(ts), max(ntz))) FROM times) AS all FROM times GROUP BY days;
SELECT z, max(b) AS a, min(n38) AS b, (SELECT to_json(struct(max(b), min(n38))) FROM tame) AS all FROM tame GROUP BY z;
SELECT z, max(struct(k, i)) AS a, (SELECT to_json(max(struct(k, i))) FROM tame) AS all FROM tame GROUP BY z;
-- No rows: no groups, a total of NULL, a count of 0.
SELECT k, count(*) AS n FROM tame WHERE id > 1000 GROUP BY k UNION ALL SELECT 'none', (SELECT count(*) FROM tame WHERE id > 1000);
SELECT t.n, (SELECT to_json(struct(count(*), count(z), sum(z), max(k))) FROM tame WHERE id > 1000) AS total FROM (SELECT 1 AS n UNION ALL SELECT count(*) + count(z) + sum(z) + length(max(k)) FROM tame WHERE id > 1000 GROUP BY i) t;
SELECT t.n, (SELECT to_json(struct(count(*), min(a.k), sum(b.n9))) FROM tame a JOIN tame b ON a.id = b.i AND a.z = b.z AND a.id < 7) AS total FROM (SELECT 1 AS n UNION ALL SELECT count(*) + sum(b.n9) + length(min(a.k)) FROM tame a JOIN tame b ON a.id = b.i AND a.z = b.z AND a.id < 7 GROUP BY b.k) t;
-- Only NULLs.
SELECT k, sum(n15) AS v, count(n15) AS n, (SELECT to_json(struct(sum(n15), count(n15))) FROM tame WHERE n15 IS NULL) AS total FROM tame WHERE n15 IS NULL GROUP BY k;
-- Outer and semi joins, joins of three tables, projections below.
SELECT a.k, count(b.i) AS n, (SELECT count(b.i) FROM tame a LEFT JOIN tame b ON a.id = b.z) AS total FROM tame a LEFT JOIN tame b ON a.id = b.z GROUP BY a.k;
SELECT a.k, sum(a.i) AS v, (SELECT sum(a.i) FROM tame a LEFT SEMI JOIN tame b ON a.id = b.i) AS total FROM tame a LEFT SEMI JOIN tame b ON a.id = b.i GROUP BY a.k;
SELECT a.k, max(c.s) AS v, (SELECT max(c.s) FROM tame a JOIN tame b ON a.i = b.i JOIN tame c ON b.id = c.id WHERE a.z = 1) AS total FROM tame a JOIN tame b ON a.i = b.i JOIN tame c ON b.id = c.id WHERE a.z = 1 GROUP BY a.k;
SELECT g, sum(x) AS v, (SELECT sum(y) FROM (SELECT i + s AS y FROM tame WHERE z > 0)) AS total FROM (SELECT k AS g, i + s AS x FROM tame WHERE z > 0) GROUP BY g;
-- The subquery has another order of functions, fewer of them, or one twice; the groups are of another subquery.
SELECT k, min(i) AS a, max(i) AS b, count(*) AS n, (SELECT to_json(struct(max(i), min(i), max(i))) FROM tame) AS total FROM tame GROUP BY k;
SELECT id, (SELECT max(n) FROM (SELECT k, count(*) AS n FROM tame GROUP BY k)) AS most, (SELECT count(*) FROM tame) AS total FROM tame WHERE id < 3;
SELECT k, count(*) AS n FROM tame GROUP BY k HAVING count(*) * 3 > (SELECT count(*) FROM tame) AND count(*) < (SELECT count(*) * 2 FROM tame);
SELECT k, sum(i) AS v FROM tame GROUP BY k HAVING sum(i) > (SELECT count(*) FROM tame WHERE i > (SELECT sum(i) / 1000 FROM tame));
-- Other rows: nothing is shared.
SELECT k, sum(i) AS v FROM tame WHERE z > 0 GROUP BY k HAVING sum(i) > (SELECT sum(i) / 9 FROM tame WHERE z > 1);
SELECT a.k, sum(a.i) AS v, (SELECT sum(a.i) FROM tame a JOIN tame b ON a.id = b.z) AS total FROM tame a LEFT JOIN tame b ON a.id = b.z GROUP BY a.k;
SELECT a.k, sum(a.i) AS v, (SELECT sum(b.i) FROM tame a JOIN tame b ON a.id = b.z) AS total FROM tame a JOIN tame b ON a.id = b.z GROUP BY a.k;
SELECT k, sum(i) AS v, (SELECT sum(i) FROM tame LIMIT 1) AS total FROM (SELECT * FROM tame ORDER BY id LIMIT 50) GROUP BY k;
-- Functions whose total is not exactly that of the groups, or that the groups lack.
-- floats: approximate
SELECT k, sum(d) AS v, min(d) AS n, max(f) AS m, (SELECT sum(d) FROM tame) AS total, (SELECT to_json(struct(min(d), max(f))) FROM tame) AS ends FROM tame GROUP BY k;
SELECT k, avg(i) AS v, avg(n9) AS w, (SELECT to_json(struct(avg(i), avg(n9))) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, count(DISTINCT i) AS n, (SELECT count(DISTINCT i) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, count(*) FILTER (WHERE z > 0) AS n, (SELECT count(*) FILTER (WHERE z > 0) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, sum(l) AS v, (SELECT sum(l) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, sum(n38) AS v, (SELECT sum(n38) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, max(i) AS v, (SELECT sum(i) FROM tame) AS total FROM tame GROUP BY k;
SELECT k, max(z) AS v, count(1) AS n, (SELECT max(i) FROM tame) AS total FROM tame GROUP BY k;
-- A key or a function that may fail and that the subquery does not evaluate.
SELECT i % 3 AS g, count(*) AS n, (SELECT count(*) FROM tame) AS total FROM tame GROUP BY i % 3;
SELECT k, max(i + z) AS m, count(*) AS n, (SELECT count(*) FROM tame) AS total FROM tame GROUP BY k;
-- The least of texts of which several are equal.
-- expect: any
SELECT z, min(collate(k, 'UTF8_LCASE')) AS a, (SELECT min(collate(k, 'UTF8_LCASE')) FROM tame) AS all FROM tame GROUP BY z;
-- A table without rows, one of limits, and an argument that fails (Spark hides the error of a subquery without AQE).
SELECT s, sum(n) AS v, (SELECT to_json(struct(sum(n), count(*), min(d), max(s))) FROM empty) AS total FROM empty GROUP BY s;
SELECT t.n, (SELECT to_json(struct(sum(n), count(*), max(s))) FROM empty) AS total FROM (SELECT 1 AS n UNION ALL SELECT count(*) + length(max(s)) + sum(n) FROM empty GROUP BY id) t;
SELECT b, sum(t) AS v, sum(i) AS w, sum(n9) AS x, sum(n18) AS y, max(l) AS z, (SELECT to_json(struct(sum(t), sum(i), sum(n9), sum(n18), max(l))) FROM numbers) AS total FROM numbers GROUP BY b;
-- expect[ansi=true]: error REMAINDER_BY_ZERO
-- set: spark.sql.adaptive.enabled=true
SELECT k, sum(i % z) AS v, (SELECT sum(i % z) FROM tame) AS total FROM tame GROUP BY k;
