-- Stages with rows, and aggregations without keys, do not become empty relations (see test_empty_relations.py).
-- tables: tame
-- matrix: ansi=true ; aqe=true
-- set: spark.sql.adaptive.optimizer.excludedRules=none

SELECT a.k, a.s, b.c FROM (SELECT k, sum(i) AS s FROM tame GROUP BY k) a JOIN (SELECT k, count(*) AS c FROM tame GROUP BY k) b ON a.k = b.k;
SELECT count(*), max(s) FROM (SELECT k, sum(i) AS s FROM tame GROUP BY k HAVING sum(i) > 1000000000000);
SELECT sum(i), count(*) FROM tame WHERE id < 0;
