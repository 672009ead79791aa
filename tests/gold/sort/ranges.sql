-- Global sorts over ranges of every type: the range exchange. Large sorts take it; here every sort does.
-- tables: keys, tame, texts, empty, batch_plus_one
-- matrix: ansi=true ; aqe=true,false
-- rows: ordered
-- set: spark.pysparkPipeline.sort.gatherBytes=0

SELECT b, id FROM keys ORDER BY b ASC NULLS FIRST, id;
SELECT b, id FROM keys ORDER BY b DESC NULLS LAST, id;
SELECT t, id FROM keys ORDER BY t ASC NULLS FIRST, id;
SELECT t, id FROM keys ORDER BY t DESC NULLS LAST, id;
SELECT s, id FROM keys ORDER BY s ASC NULLS FIRST, id;
SELECT s, id FROM keys ORDER BY s DESC NULLS LAST, id;
SELECT i, id FROM keys ORDER BY i ASC NULLS FIRST, id;
SELECT i, id FROM keys ORDER BY i DESC NULLS LAST, id;
SELECT l, id FROM keys ORDER BY l ASC NULLS FIRST, id;
SELECT l, id FROM keys ORDER BY l DESC NULLS LAST, id;
SELECT f, id FROM keys ORDER BY f ASC NULLS FIRST, id;
SELECT f, id FROM keys ORDER BY f DESC NULLS LAST, id;
SELECT d, id FROM keys ORDER BY d ASC NULLS FIRST, id;
SELECT d, id FROM keys ORDER BY d DESC NULLS LAST, id;
SELECT n9, id FROM keys ORDER BY n9 ASC NULLS FIRST, id;
SELECT n9, id FROM keys ORDER BY n9 DESC NULLS LAST, id;
SELECT n18, id FROM keys ORDER BY n18 ASC NULLS FIRST, id;
SELECT n18, id FROM keys ORDER BY n18 DESC NULLS LAST, id;
SELECT n38, id FROM keys ORDER BY n38 ASC NULLS FIRST, id;
SELECT n38, id FROM keys ORDER BY n38 DESC NULLS LAST, id;
SELECT str, id FROM keys ORDER BY str ASC NULLS FIRST, id;
SELECT str, id FROM keys ORDER BY str DESC NULLS LAST, id;
SELECT bin, id FROM keys ORDER BY bin ASC NULLS FIRST, id;
SELECT bin, id FROM keys ORDER BY bin DESC NULLS LAST, id;
SELECT dt, id FROM keys ORDER BY dt ASC NULLS FIRST, id;
SELECT dt, id FROM keys ORDER BY dt DESC NULLS LAST, id;
SELECT ts, id FROM keys ORDER BY ts ASC NULLS FIRST, id;
SELECT ts, id FROM keys ORDER BY ts DESC NULLS LAST, id;
SELECT ntz, id FROM keys ORDER BY ntz ASC NULLS FIRST, id;
SELECT ntz, id FROM keys ORDER BY ntz DESC NULLS LAST, id;
SELECT void, id FROM keys ORDER BY void ASC NULLS FIRST, id;
SELECT void, id FROM keys ORDER BY void DESC NULLS LAST, id;
SELECT b, str, d, id FROM keys ORDER BY b DESC, str, d DESC NULLS LAST, id;
SELECT k, i, id FROM tame ORDER BY k DESC, i NULLS LAST, id;
SELECT i + z AS x, id FROM tame ORDER BY i + z DESC, id DESC;
SELECT k, count(*) AS c FROM tame GROUP BY k ORDER BY c, k;
-- expect[aqe=true]: any
SELECT id FROM tame WHERE id < 0 ORDER BY id;
-- expect[aqe=true]: any
SELECT * FROM empty ORDER BY 1;
SELECT id FROM tame WHERE id = 5 ORDER BY id;
SELECT g, id FROM batch_plus_one WHERE id % 7 = 0 ORDER BY g DESC, n, id;
SELECT a.id, b.id AS x FROM tame a JOIN tame b ON a.id = b.z ORDER BY b.id DESC, a.id;
-- All keys equal, all keys NULL.
SELECT id FROM (SELECT 1 AS one, id FROM tame) ORDER BY one, id;
SELECT id, s FROM (SELECT CAST(NULL AS INT) AS none, id, k AS s FROM tame) ORDER BY none, s, id;
-- A single partition; more partitions than rows.
-- set: spark.sql.shuffle.partitions=1
SELECT id FROM tame ORDER BY k, id;
-- set: spark.sql.shuffle.partitions=500
SELECT id FROM tame ORDER BY k DESC, id;
-- A sample of one row a partition.
-- set: spark.sql.execution.rangeExchange.sampleSizePerPartition=1
SELECT id, d FROM tame ORDER BY d DESC NULLS LAST, id;
