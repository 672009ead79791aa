-- What the scan leaves to Spark, with a reason: other formats.
-- tables: nested, numbers
-- matrix: ansi=true

SELECT id FROM nested;
SELECT count(*), sum(id) FROM nested;
-- The file of a row is a column of the scan; the index of a row in it stays in Spark.
SELECT count(DISTINCT f) FROM (SELECT input_file_name() AS f FROM numbers);
