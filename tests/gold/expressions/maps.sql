-- Functions that make maps; equal keys and NULL keys.
-- tables: nests, texts
-- matrix: ansi=true,false ; aqe=true
-- Lambdas of Spark 4.3 fail over NULL elements of a column with a dictionary, which its other reader decodes.

SELECT id, map(id, k), map(coalesce(k, '-'), i, 'x', 2), map(id, ai, -id - 1, NULL), map(true, st), map(id, NULL) FROM nests;
SELECT id, map(st.d, 1)[1.5BD], map_keys(map(DATE'2020-01-01' + cast(id AS INT), k)), map(cast(cast(id AS STRING) AS BINARY), at), map(timestamp_seconds(id), NULL, timestamp_seconds(-5), ms) FROM nests WHERE st.d IS NOT NULL;
-- expect: error NULL_MAP_KEY
SELECT id, map(k, id) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map(id, 1, 3L, 2) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map(cast(id AS STRING), 1, '7', 2) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map(DATE'2020-01-01' + cast(id AS INT), 1, DATE'2020-01-08', 2) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map(timestamp_seconds(id), 1, timestamp_seconds(4), 2) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map(cast(id AS DECIMAL(30, 2)), 1, 9.5BD - 1.5BD, 2) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map_from_arrays(array(double(id), double(id / 2)), array(1, 2)) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map_from_arrays(array(-0.0D * id, 1.0D, 0.0D), array(1, 2, 3)) FROM nests WHERE id > 0;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map(id > 0, 1, i < 0, 2) FROM nests WHERE i IS NOT NULL;
-- expect: error DUPLICATED_MAP_KEY
SELECT id, map(cast(cast(id AS STRING) AS BINARY), 1, X'37', 2) FROM nests;
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
SELECT id, map(id, 1, 3L, 2, id + 1, 3), map(coalesce(k, '-'), ai, 'kk', st.in.v, 'a', NULL) FROM nests;
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
-- expect: error NULL_MAP_KEY
SELECT id, map(id, 1, 3L, 2, i, 3) FROM nests;
-- expect: partly map
SELECT id, map(double(id), 1) FROM nests;
-- expect: partly map
SELECT id, size(map(array(id), 1)), map_values(map(array(id), 1)) FROM nests;

SELECT id, map_from_arrays(array_distinct(array(id, 3L)), array_distinct(array(id, 3L))), map_from_arrays(map_keys(m), map_values(m)), map_from_arrays(array(id), array(ms)) FROM nests;
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
SELECT id, map_from_arrays(map_keys(ms), map_values(ms)), map_from_entries(map_entries(ms)), map_concat(ms, map(2, NULL)) FROM nests;
SELECT id, map_from_arrays(array(-0.0D * id, double('NaN')), array(k, 'x')) FROM nests WHERE id > 0;
-- expect: error NULL_MAP_KEY
SELECT id, map_from_arrays(at, at) FROM nests WHERE size(array_distinct(at)) = size(at);
-- expect: error _LEGACY_ERROR_TEMP_2128
SELECT id, map_from_arrays(array(1, 2, 3), ai) FROM nests;
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
SELECT id, map_from_arrays(array(id, 3L, id), array(k, 'x', NULL)), map_from_arrays(array(-0.0D * id, 1.0D, 0.0D), array(1, 2, 3)), map_from_arrays(concat(sequence(0, 30), sequence(7, 9)), sequence(0, 33)) FROM nests;

SELECT id, map_from_entries(map_entries(m)), map_from_entries(array(struct(id, k))), map_from_entries(array(struct(id AS a, at AS b), IF(i > 0, struct(-id - 1 AS a, at AS b), NULL))), map_from_entries(array(struct(-0.0D * id, 1))) FROM nests;
-- expect: error NULL_MAP_KEY
SELECT id, map_from_entries(array(struct(k, id))) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, map_from_entries(array(struct(id AS a, 1 AS b), struct(5L AS a, 2 AS b))) FROM nests;
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
SELECT id, map_from_entries(array(struct(id AS a, 1 AS b), struct(5L AS a, 2 AS b), struct(id AS a, i AS b))), map_from_entries(arrays_zip(map_keys(m), map_values(m))) FROM nests;

SELECT id, map_concat(m, map('z', id)), map_concat(m), map_concat(map(id, at), map(-5L, NULL)), map_concat(map(id, 1), map(-id - 1, i), map(1000L, 2)) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
SELECT id, map_concat(m, m) FROM nests;
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
SELECT id, map_concat(m, map('a', -1L, 'é', id), m), map_concat(map_from_arrays(array(-0.0D * id), array(1)), map_from_arrays(array(0.0D), array(2))) FROM nests;

SELECT str_to_map(concat('a:', s), '&', ':'), str_to_map(concat(s, ';x=1'), ';', '=') FROM texts WHERE NOT contains(s, ';');
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
SELECT s, str_to_map(s), str_to_map(s, 'a', ' '), str_to_map(s, ' ', 'a'), str_to_map(s, '--', ', ') FROM texts;
SELECT id, str_to_map('a:1,b:,,c::d'), str_to_map(concat('k', id, ':', k, ',b')), str_to_map(concat(k, ':1,', k, k, ':2:3')), str_to_map(CASE WHEN i > 0 THEN '' END) FROM nests;
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, str_to_map(concat(id, ':1,7:2')) FROM nests;
-- expect: partly str_to_map
SELECT id, str_to_map(concat('k', id), '[,.]', ':') FROM nests;

SELECT id, map_contains_key(m, k), map_contains_key(m, 'é'), map_contains_key(ms, i) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, transform_keys(m, (key, v) -> concat(key, '!', k)), transform_keys(ms, (key, v) -> key * 2L), transform_keys(m, (key, v) -> X'00') FROM nests WHERE k IS NOT NULL AND size(m) < 2;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
-- expect: error NULL_MAP_KEY
SELECT id, transform_keys(m, (key, v) -> v) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
SELECT id, transform_keys(m, (key, v) -> 'x') FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
-- set: spark.sql.mapKeyDedupPolicy=LAST_WIN
SELECT id, transform_keys(m, (key, v) -> substr(key, 1, 1)), transform_keys(m, (key, v) -> -0.0D * coalesce(v, 1)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
-- expect[ansi=true]: error DIVIDE_BY_ZERO
-- expect[ansi=false]: error NULL_MAP_KEY
SELECT id, transform_keys(ms, (key, v) -> 1 div (key - 2)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, map_zip_with(m, map('a', i, 'q', 2), (key, x, y) -> concat(key, x, y)), map_zip_with(m, m, (key, x, y) -> x = y), map_zip_with(ms, map(cast(id AS INT), at), (key, x, y) -> struct(x, y, k)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, map_zip_with(map_from_arrays(sequence(0, 30), sequence(1, 31)), map_from_arrays(sequence(20, 40), sequence(1, 21)), (key, x, y) -> coalesce(x, 0) - coalesce(y, id)) FROM nests WHERE id < 9;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, map_zip_with(map_from_arrays(array(-0.0D * id, double('NaN')), array(1, 2)), map_from_arrays(array(0.0D, double('NaN'), 1.0D), array(3, 4, 5)), (key, x, y) -> struct(key, x, y)) FROM nests WHERE id > 0;
SELECT id, element_at(map(id, k, -5L, 'x'), -5L), map(id, k)[id], map_entries(map(k, id)), size(map(id, 1)) FROM nests WHERE k IS NOT NULL;
SELECT k, count(DISTINCT id), max_by(map(id, k), id) FROM nests GROUP BY k;
-- expect: partly Generate
SELECT id, key FROM nests LATERAL VIEW explode(map()) t AS key, value;
-- expect: partly
SELECT map() AS nothing, count(*) FROM nests GROUP BY id % 2;
