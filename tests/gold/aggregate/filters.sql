-- FILTER clauses, HAVING, and aggregates of aggregates.
-- tables: tame, keys
-- matrix: ansi=true
-- floats: approximate

SELECT count(*) FILTER (WHERE b), sum(i) FILTER (WHERE i > 0), avg(d) FILTER (WHERE NOT b) FROM tame;
SELECT k, count(*) FILTER (WHERE b), min(i) FILTER (WHERE z = 1), max(l) FILTER (WHERE z IS NULL) FROM tame GROUP BY k;
SELECT k, sum(n9) FILTER (WHERE false), count(i) FILTER (WHERE CAST(NULL AS BOOLEAN)), avg(n18) FILTER (WHERE true) FROM tame GROUP BY k;
SELECT k, avg(n15) FILTER (WHERE z > 0 AND b), sum(d) FILTER (WHERE d > 0) FROM tame GROUP BY k;
SELECT k, count(*) FROM tame GROUP BY k HAVING count(*) > 52;
SELECT k, sum(i) AS s FROM tame GROUP BY k HAVING sum(i) IS NOT NULL AND max(z) = 2;
SELECT k FROM tame GROUP BY k HAVING avg(n9) > 200 OR k IS NULL;
SELECT count(*) FROM tame HAVING count(*) > 1000;
SELECT count(*) FROM tame HAVING count(*) > 5;
SELECT c, count(*) FROM (SELECT k, z, count(*) AS c FROM tame GROUP BY k, z) GROUP BY c;
SELECT max(c), sum(x) FROM (SELECT k, count(*) AS c, sum(n9) AS x FROM tame GROUP BY k);
SELECT k, max(s) FROM (SELECT k, z, sum(i) AS s FROM tame GROUP BY k, z) GROUP BY k HAVING max(s) > 100;
SELECT k, sum(s) FROM (SELECT k, sum(i) AS s FROM tame GROUP BY k) WHERE s > 0 GROUP BY k;
SELECT i + z AS x, count(*) FROM tame WHERE z > 0 GROUP BY i + z HAVING count(*) > 3;
