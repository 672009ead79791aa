-- Arguments that are NULL, or zero, where a condition does not hold; they become filters of the calls.
-- tables: tame, times, empty, numbers
-- matrix: ansi=true,false ; aqe=true,false
-- floats: approximate

-- NULL elsewhere: sums, averages, counts, least and greatest values, by keys and of all rows.
SELECT z, sum(CASE WHEN k = 'a' THEN n9 END) AS a, sum(CASE WHEN k = 'b' THEN n9 END) AS b, sum(CASE WHEN k IS NULL THEN n9 END) AS c, count(*) AS d FROM tame GROUP BY z;
SELECT sum(CASE WHEN k = 'a' THEN n9 END) AS a, avg(CASE WHEN k > 'a' THEN n15 END) AS b, max(CASE WHEN i > 5 THEN k END) AS c, min(IF(i > 5, d, NULL)) AS d, count(CASE WHEN i > 5 THEN 1 END) AS e, count(CASE WHEN i > 5 THEN n9 END) AS f FROM tame;
SELECT k, sum(CASE WHEN z = 1 THEN l ELSE NULL END) AS a, sum(IF(z = 2, f, NULL)) AS b, avg(CASE WHEN z <> 1 THEN i END) AS c, sum(CASE WHEN z IN (1, 3) THEN n38 END) AS d FROM tame GROUP BY k;
SELECT days, max(CASE WHEN ts > TIMESTAMP '2000-01-01 00:00:00' THEN d END) AS a, min(CASE WHEN ntz IS NOT NULL THEN ts END) AS b FROM times GROUP BY days;
-- Zero elsewhere: a group without a row of the condition has a sum of 0, one without rows NULL.
SELECT z, sum(CASE WHEN k = 'a' THEN 1 ELSE 0 END) AS a, sum(CASE WHEN k = 'b' THEN i ELSE 0 END) AS b, sum(CASE WHEN k = 'c' THEN n9 ELSE 0 END) AS c, sum(CASE WHEN k > 'a' THEN n38 ELSE 0 END) AS d, sum(IF(i > 3, s, 0)) AS e FROM tame GROUP BY z;
SELECT sum(CASE WHEN k = 'no such' THEN n18 ELSE 0 END) AS a, sum(CASE WHEN k = 'no such' THEN n18 END) AS b, sum(CASE WHEN k = 'no such' THEN 1 ELSE 0 END) AS c, sum(IF(k IS NULL, i, 0)) AS d FROM tame;
SELECT id, sum(CASE WHEN z = 1 THEN CAST(NULL AS int) ELSE 0 END) AS a, sum(CASE WHEN z = 1 THEN i ELSE 0 END) AS b, try_sum(CASE WHEN z = 2 THEN l ELSE 0 END) AS c, sum(CASE WHEN z = 1 THEN i ELSE 0L END) AS d FROM tame GROUP BY id;
SELECT s, sum(CASE WHEN n IS NOT NULL THEN n ELSE 0 END) AS a, sum(CASE WHEN n > 0 THEN 1 END) AS b FROM empty GROUP BY s;
SELECT sum(CASE WHEN n IS NOT NULL THEN n ELSE 0 END) AS a, count(CASE WHEN n > 0 THEN 1 END) AS b FROM empty;
-- The same value under several conditions, conditions twice, and beside filters.
SELECT k, sum(CASE WHEN z = 1 THEN i ELSE 0 END) AS a, sum(CASE WHEN z = 1 THEN i END) AS b, sum(i) FILTER (WHERE z = 1) AS c, sum(CASE WHEN z = 1 THEN i END) FILTER (WHERE i > 3) AS d, sum(CASE WHEN z = 1 THEN i ELSE 0 END) FILTER (WHERE i > 3) AS e, sum(i) AS f FROM tame GROUP BY k;
SELECT z, sum(DISTINCT CASE WHEN k = 'a' THEN i END) AS a, count(DISTINCT CASE WHEN k = 'a' THEN i END) AS b, sum(CASE WHEN k = 'a' THEN i END) AS c FROM tame GROUP BY z;
SELECT k, z, sum(CASE WHEN i > 3 THEN i ELSE 0 END) AS a, avg(CASE WHEN i > 3 THEN n9 END) AS b FROM tame GROUP BY ROLLUP (k, z);
-- Zeros that are not left out: of floats, another constant, several branches, NULL as the value.
SELECT k, sum(CASE WHEN z = 1 THEN d ELSE 0 END) AS a, sum(CASE WHEN z = 1 THEN -0.0D ELSE 0.0D END) AS b, avg(CASE WHEN z = 1 THEN i ELSE 0 END) AS c, min(CASE WHEN z = 1 THEN i ELSE 0 END) AS d, sum(CASE WHEN z = 1 THEN i ELSE 5 END) AS e, sum(CASE WHEN z = 1 THEN i WHEN z = 2 THEN 2 END) AS f, sum(CASE WHEN z = 1 THEN NULL ELSE i END) AS g FROM tame GROUP BY k;
-- Conditions and values that raise.
SELECT k, sum(CASE WHEN z <> 0 THEN 100 / z END) AS a, sum(CASE WHEN z <> 0 THEN i ELSE 0 END) AS b FROM tame GROUP BY k;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT k, sum(CASE WHEN 100 / z > 1 THEN i END) AS a, sum(CASE WHEN i > 3 THEN i END) AS b FROM tame GROUP BY k;
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT sum(CASE WHEN l > 0 THEN l ELSE 0 END) AS a FROM (SELECT l FROM numbers UNION ALL SELECT l FROM numbers);
