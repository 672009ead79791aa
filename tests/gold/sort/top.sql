-- The first rows of a sort.
-- tables: keys, tame
-- matrix: ansi=true ; aqe=true,false
-- rows: ordered

SELECT b, id FROM keys ORDER BY b ASC, id LIMIT 11;
SELECT b, id FROM keys ORDER BY b DESC, id LIMIT 11;
SELECT t, id FROM keys ORDER BY t ASC, id LIMIT 11;
SELECT t, id FROM keys ORDER BY t DESC, id LIMIT 11;
SELECT s, id FROM keys ORDER BY s ASC, id LIMIT 11;
SELECT s, id FROM keys ORDER BY s DESC, id LIMIT 11;
SELECT i, id FROM keys ORDER BY i ASC, id LIMIT 11;
SELECT i, id FROM keys ORDER BY i DESC, id LIMIT 11;
SELECT l, id FROM keys ORDER BY l ASC, id LIMIT 11;
SELECT l, id FROM keys ORDER BY l DESC, id LIMIT 11;
SELECT f, id FROM keys ORDER BY f ASC, id LIMIT 11;
SELECT f, id FROM keys ORDER BY f DESC, id LIMIT 11;
SELECT d, id FROM keys ORDER BY d ASC, id LIMIT 11;
SELECT d, id FROM keys ORDER BY d DESC, id LIMIT 11;
SELECT n9, id FROM keys ORDER BY n9 ASC, id LIMIT 11;
SELECT n9, id FROM keys ORDER BY n9 DESC, id LIMIT 11;
SELECT n18, id FROM keys ORDER BY n18 ASC, id LIMIT 11;
SELECT n18, id FROM keys ORDER BY n18 DESC, id LIMIT 11;
SELECT n38, id FROM keys ORDER BY n38 ASC, id LIMIT 11;
SELECT n38, id FROM keys ORDER BY n38 DESC, id LIMIT 11;
SELECT str, id FROM keys ORDER BY str ASC, id LIMIT 11;
SELECT str, id FROM keys ORDER BY str DESC, id LIMIT 11;
SELECT bin, id FROM keys ORDER BY bin ASC, id LIMIT 11;
SELECT bin, id FROM keys ORDER BY bin DESC, id LIMIT 11;
SELECT dt, id FROM keys ORDER BY dt ASC, id LIMIT 11;
SELECT dt, id FROM keys ORDER BY dt DESC, id LIMIT 11;
SELECT ts, id FROM keys ORDER BY ts ASC, id LIMIT 11;
SELECT ts, id FROM keys ORDER BY ts DESC, id LIMIT 11;
SELECT ntz, id FROM keys ORDER BY ntz ASC, id LIMIT 11;
SELECT ntz, id FROM keys ORDER BY ntz DESC, id LIMIT 11;
SELECT void, id FROM keys ORDER BY void ASC, id LIMIT 11;
SELECT void, id FROM keys ORDER BY void DESC, id LIMIT 11;
SELECT id, i, d FROM keys ORDER BY i DESC NULLS LAST, d, id LIMIT 5 OFFSET 3;
SELECT id FROM keys ORDER BY id LIMIT 100000;
SELECT id FROM keys WHERE id < 0 ORDER BY id LIMIT 3;
SELECT id * 2 AS x, str FROM keys ORDER BY str, id LIMIT 9;
SELECT k, sum(i) AS s FROM tame GROUP BY k ORDER BY s DESC, k LIMIT 2;
SELECT * FROM (SELECT k, id FROM tame ORDER BY k, id LIMIT 10) JOIN (SELECT id FROM tame WHERE id < 50) USING (id) ORDER BY id;
-- Offsets: within the first rows, at their end, past the last row; below an aggregation and a join.
SELECT id, str FROM keys ORDER BY str DESC NULLS LAST, id LIMIT 20 OFFSET 20;
SELECT id FROM keys ORDER BY id LIMIT 10 OFFSET 495;
SELECT id FROM keys ORDER BY id LIMIT 10 OFFSET 500;
SELECT id FROM keys ORDER BY id DESC OFFSET 490;
SELECT count(*), sum(id) FROM (SELECT id FROM keys ORDER BY d, id LIMIT 33 OFFSET 8);
SELECT a.id, b.id FROM (SELECT id, z FROM tame ORDER BY id DESC LIMIT 9 OFFSET 3) a JOIN tame b ON a.z = b.id ORDER BY a.id, b.id;
SELECT k, x FROM (SELECT k, id AS x FROM tame WHERE id < 30 UNION ALL SELECT k, z FROM tame) ORDER BY k DESC, x LIMIT 12 OFFSET 5;
-- More first rows than Spark collects by a top: a sort, then a limit.
-- set: spark.sql.execution.topKSortFallbackThreshold=5
SELECT id, i FROM keys ORDER BY i, id LIMIT 8;
