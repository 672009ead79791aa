-- Every type the scan reads, with its limits, NULLs and odd values, bare and behind other columns.
-- tables: numbers, texts, times, keys, tame, clocks
-- matrix: ansi=true ; tz=America/St_Johns

SELECT * FROM numbers;
SELECT * FROM tame;
SELECT * FROM texts;
SELECT * FROM times;
SELECT * FROM keys;
SELECT n380, f, b, id FROM numbers;
SELECT nothing FROM numbers;
SELECT bin FROM texts;
SELECT flag FROM texts;
SELECT ntz, ts FROM times;
SELECT id, id AS again, -0.0D AS zero, CAST(NULL AS INT) AS n FROM numbers;
SELECT 'x' AS constant, 1 AS one FROM numbers;
-- No column at all: only the number of rows counts.
SELECT count(*) FROM numbers;
SELECT 1 AS one FROM texts;
-- Times of day, with conditions that Spark pushes to the reader.
SELECT * FROM clocks;
SELECT t2, id FROM clocks WHERE t >= TIME'12:00:00';
SELECT id FROM clocks WHERE t IN (TIME'00:00:00.000001', TIME'23:59:59.999999') OR t2 IS NULL;
SELECT count(t), count(*) FROM clocks WHERE t = TIME'12:34:56.789012';
