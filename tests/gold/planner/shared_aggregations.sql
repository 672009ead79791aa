-- Aggregations that a query uses twice, once with a filter of NULL keys that Spark infers from a join.
-- tables: tame
-- matrix: ansi=true,false ; aqe=true,false
-- set: spark.sql.autoBroadcastJoinThreshold=1

-- A view in a join and in a scalar subquery; keys with NULLs, renamed, of two columns, some of them not in the result.
WITH v AS (SELECT i, sum(l) AS s FROM tame WHERE z > 0 GROUP BY i) SELECT a.id, v.s FROM tame a JOIN v ON a.i = v.i WHERE v.s > (SELECT avg(s) FROM v);
WITH v AS (SELECT i AS n, max(l) AS m FROM tame GROUP BY i) SELECT a.id, v.m FROM tame a JOIN v ON a.i = v.n WHERE v.m = (SELECT max(m) FROM v);
WITH v AS (SELECT i, k, count(*) AS c FROM tame GROUP BY i, k) SELECT a.id, v.c FROM tame a JOIN v ON a.i = v.i AND a.k = v.k WHERE v.c < (SELECT max(c) FROM v);
WITH v AS (SELECT i, k, count(*) AS c FROM tame GROUP BY i, k) SELECT a.id, v.c FROM tame a JOIN v ON a.k = v.k WHERE v.c < (SELECT max(c) FROM v);
WITH v AS (SELECT i, count(*) AS c FROM tame GROUP BY i) SELECT v.c, (SELECT count(*) FROM v) AS n, (SELECT sum(c) FROM v) AS t FROM v WHERE i IS NOT NULL;
-- Below the aggregation a join.
WITH v AS (SELECT a.i, sum(b.l) AS s FROM tame a JOIN tame b ON a.id = b.id GROUP BY a.i) SELECT t.id, v.s FROM tame t JOIN v ON t.i = v.i WHERE v.s > (SELECT avg(s) FROM v);
-- Other functions, or no filter: nothing is shared, or all is.
WITH v AS (SELECT i, sum(l) AS s, min(l) AS m FROM tame GROUP BY i) SELECT a.id, v.m FROM tame a JOIN v ON a.i = v.i WHERE v.m < (SELECT avg(s) FROM v);
WITH v AS (SELECT i, sum(l) AS s FROM tame GROUP BY i) SELECT v.s, (SELECT max(s) FROM v) AS m FROM v;
