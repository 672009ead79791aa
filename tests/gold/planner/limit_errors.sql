-- A row that breaks a rule of Spark raises only if it is reached: below a LIMIT, rows that are not taken are not evaluated.
-- Row 99 of `raising` divides by k - 99 = 0.
-- tables: raising
-- errors: exact
-- matrix: ansi=true ; aqe=true,false

SELECT x, count(*) FROM (SELECT 10 div (k - 99) AS x FROM raising LIMIT 50) GROUP BY x;
SELECT count(x) FROM (SELECT 10 div (k - 99) AS x FROM raising LIMIT 99);
-- expect: error DIVIDE_BY_ZERO
SELECT count(x) FROM (SELECT 10 div (k - 99) AS x FROM raising LIMIT 100);
SELECT 10 div (k - 99) AS x FROM raising LIMIT 99;
-- expect: error DIVIDE_BY_ZERO
SELECT 10 div (k - 99) AS x FROM raising LIMIT 100;
-- expect: error DIVIDE_BY_ZERO
SELECT 10 div (k - 99) AS x FROM raising ORDER BY k LIMIT 5;
SELECT count(*) FROM (SELECT k FROM raising WHERE 10 div (k - 99) > -100 LIMIT 99);
SELECT k FROM raising WHERE 10 div (k - 99) > -100 LIMIT 99;
SELECT sum(x + y) FROM (SELECT k + 1 AS x, 10 div (k - 99) AS y FROM raising WHERE 10 div (k - 99) > -100 AND k % 2 = 0 LIMIT 40);
SELECT EXISTS(SELECT 1 FROM raising WHERE 10 div (k - 99) > -100);
-- Skipped rows are rows that are reached.
-- expect: error DIVIDE_BY_ZERO
SELECT count(x) FROM (SELECT 10 div (k - 2) AS x FROM raising LIMIT 50 OFFSET 5);
SELECT count(x) FROM (SELECT 10 div (id - 2) AS x FROM range(0, 1000, 1, 1) LIMIT 50 OFFSET 5);
-- Joins: in the keys, in the condition, above and below.
SELECT count(*) FROM (SELECT /*+ BROADCAST(b) */ b.k, 10 div (a.k - 99) AS x FROM raising a JOIN raising b ON a.k = b.k LIMIT 50);
SELECT count(*) FROM (SELECT /*+ BROADCAST(b) */ b.k FROM raising a JOIN raising b ON 10 div (a.k - 99) = b.k LIMIT 3);
SELECT count(*) FROM (SELECT /*+ BROADCAST(b) */ b.k FROM raising a JOIN raising b ON a.k % 1000 = b.k % 1000 AND 10 div (a.k + b.k - 198) < 100 LIMIT 99);
-- expect: error DIVIDE_BY_ZERO
SELECT count(*) FROM (SELECT /*+ BROADCAST(b) */ b.k FROM raising a JOIN raising b ON a.k % 1000 = b.k % 1000 AND 10 div (a.k + b.k - 198) < 100 LIMIT 100);
SELECT count(*) FROM (SELECT /*+ BROADCAST(b) */ b.k FROM raising a LEFT JOIN raising b ON a.k % 1000 = b.k % 1000 AND 10 div (a.k + b.k - 198) < 100 LIMIT 99);
SELECT count(*) FROM (SELECT /*+ BROADCAST(b) */ a.k FROM raising a LEFT SEMI JOIN raising b ON a.k % 1000 = b.k % 1000 AND 10 div (a.k + b.k - 198) < 100 LIMIT 99);
SELECT count(*) FROM (SELECT /*+ BROADCAST(b) */ a.k FROM (SELECT k FROM raising WHERE 10 div (k - 99) > -100) a JOIN raising b ON a.k % 1000 = b.k % 1000 LIMIT 99);
-- An aggregation reads all rows.
-- expect: error DIVIDE_BY_ZERO
SELECT count(s) FROM (SELECT k, sum(10 div (k - 99)) AS s FROM raising GROUP BY k LIMIT 50);
SELECT count(*) FROM ((SELECT 10 div (k - 99) AS x FROM raising) UNION ALL (SELECT k FROM raising) LIMIT 50);
