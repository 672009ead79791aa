-- An aggregation by keys of an empty stage is an empty relation, as Spark's own (adaptive execution); it spares stages.
-- tables: tame
-- matrix: ansi=true ; aqe=true
-- set: spark.sql.adaptive.optimizer.excludedRules=none

-- expect: declined
SELECT k, sum(i) FROM tame WHERE id < 0 GROUP BY k;
-- expect: declined
SELECT a.k, a.s, b.c FROM (SELECT k, sum(i) AS s FROM tame WHERE id < 0 GROUP BY k) a JOIN (SELECT k, count(*) AS c FROM tame GROUP BY k) b ON a.k = b.k;
SELECT a.k, a.s, b.c FROM (SELECT k, sum(i) AS s FROM tame GROUP BY k) a JOIN (SELECT k, count(*) AS c FROM tame GROUP BY k) b ON a.k = b.k;
SELECT count(*), max(s) FROM (SELECT k, sum(i) AS s FROM tame GROUP BY k HAVING sum(i) > 1000000000000);
SELECT sum(i), count(*) FROM tame WHERE id < 0;
