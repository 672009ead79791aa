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
-- What depends on the file a row comes from stays in Spark.
-- expect: any
SELECT count(DISTINCT f) FROM (SELECT input_file_name() AS f FROM numbers);
