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
-- Columns of the file's own making stay in Spark.
-- expect: any
SELECT count(DISTINCT _metadata.file_name) FROM numbers;
-- expect: any
SELECT count(DISTINCT input_file_name()) FROM numbers;
-- expect: any
SELECT max(_metadata.row_index) FROM numbers;
