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
-- Spark reads bytes that are serialized lists of one value each, which an exchange of the engine narrows.
-- set: spark.pysparkPipeline.exclude=crc32
-- expect: partly crc32 is excluded
SELECT id, crc32(b) FROM (SELECT /*+ REPARTITION(3, id) */ id, unhex(concat(repeat('0', 16), '18000000100000000100000000000000', repeat('0', 16), lpad(hex(id), 16, '0'))) AS b FROM tame);
