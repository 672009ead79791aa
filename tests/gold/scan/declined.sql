-- What the scan leaves to Spark, with a reason: text files that are compressed otherwise than by gzip.
-- tables: nested, numbers, text_bzip2
-- matrix: ansi=true

SELECT id FROM nested;
SELECT count(*), sum(id) FROM nested;
-- The file of a row is a column of the scan; the index of a row in it stays in Spark.
SELECT count(DISTINCT f) FROM (SELECT input_file_name() AS f FROM numbers);
-- expect: declined the compression of lines.bz2 is not supported
SELECT value FROM text_bzip2;
