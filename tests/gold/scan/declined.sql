-- What the scan leaves to Spark, with a reason: nested types, other formats; pruned to flat columns it converts.
-- tables: nested, numbers
-- matrix: ansi=true

-- expect: declined
SELECT * FROM nested;
-- expect: declined
SELECT arr FROM nested;
-- expect: any
SELECT st.x FROM nested;
SELECT id FROM nested;
SELECT count(*), sum(id) FROM nested;
-- The file of a row is a column of the scan; the index of a row in it stays in Spark.
SELECT count(DISTINCT f) FROM (SELECT input_file_name() AS f FROM numbers);
