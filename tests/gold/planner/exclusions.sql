-- One function or operator at a time stays in Spark.
-- tables: tame, numbers
-- matrix: ansi=true,false ; aqe=true,false

-- set: spark.pysparkPipeline.exclude=sum
-- expect: partly sum is excluded
SELECT k, sum(n9), max(s) FROM (SELECT k, n9, upper(k) AS s FROM tame WHERE i > 0) GROUP BY k;
-- set: spark.pysparkPipeline.exclude=upper, FilterExec
-- expect: partly upper is excluded
SELECT k, count(*) FROM (SELECT upper(k) AS k, id + 1 AS n FROM tame) GROUP BY k HAVING count(*) > 3;
-- set: spark.pysparkPipeline.exclude=SortMergeJoin,BroadcastHashJoin,ShuffledHashJoin
-- expect: partly Join.* is excluded
SELECT a.id, b.d FROM tame a JOIN numbers b ON a.id = b.id WHERE a.i > 0;
-- set: spark.pysparkPipeline.exclude=ShuffleExchange
-- expect: partly ShuffleExchange is excluded
SELECT k, count(*) FROM tame GROUP BY k;
-- set: spark.pysparkPipeline.exclude=Sort
-- expect: partly Sort.* is excluded
SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM tame SORT BY id;
