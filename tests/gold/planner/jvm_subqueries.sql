-- Subqueries beside expressions that Spark evaluates for the engine, and within them.
-- tables: tame
-- matrix: ansi=true,false ; aqe=true,false
-- set: spark.pysparkPipeline.jvmExpressions=true ; spark.pysparkPipeline.exclude=reverse

SELECT -(SELECT max(id) FROM tame) + id AS a, reverse(k) AS b FROM tame;
SELECT reverse(k) AS a, count(*) AS b FROM tame WHERE id < (SELECT max(id) - 5 FROM tame WHERE reverse(k) = 'x') GROUP BY reverse(k);
-- expect: partly reverse is excluded
SELECT id, reverse((SELECT max(k) FROM tame)) AS a, reverse(k) AS b FROM tame;
