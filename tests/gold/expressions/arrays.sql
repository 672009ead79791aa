-- Functions that make arrays and maps of others, and lambdas over elements and entries.
-- tables: nests
-- matrix: ansi=true,false ; aqe=true
-- Lambdas of Spark 4.3 fail over NULL elements of a column with a dictionary, which its other reader decodes.

SELECT id, flatten(aa), flatten(array(ai, array(i))) FROM nests;
SELECT id, concat(ai, array(i), ai), concat(at, at), reverse(at), reverse(st.in.v) FROM nests;
SELECT id, slice(ai, 1, 2), slice(ai, 2, 9), slice(at, -2, 1), slice(at, -9, 3), slice(aa, 1, 0) FROM nests;
SELECT id, slice(ai, nullif(i, 0), 2), slice(at, -id, 3), slice(ast, nullif(i, 0), abs(i)), slice(aa, 2, IF(i > 0, i, NULL)) FROM nests WHERE id > 0;
SELECT id, slice(ai, -2147483648, 2147483647), slice(st.in.v, 2147483647, 2147483647), slice(ai, NULL, 0), slice(IF(ai IS NULL, ai, NULL), i, i) FROM nests;
-- errors: exact
-- expect: error INVALID_PARAMETER_VALUE.START
SELECT id, slice(array(id), i, -1) FROM nests WHERE i = 0;
-- errors: exact
-- expect: error INVALID_PARAMETER_VALUE.LENGTH
SELECT id, slice(array(id), 1, i) FROM nests WHERE i = -1;
SELECT id, array_position(at, k), array_position(ai, i), array_position(ad, double('NaN')), array_position(ad, 0.0D) FROM nests;
SELECT id, array_remove(at, k), array_remove(ai, i), array_remove(ad, double('NaN')), array_remove(ad, -0.0D) FROM nests;
SELECT id, array_join(at, ','), array_join(at, k), array_join(at, '-', 'none'), array_join(at, ',', k) FROM nests;
SELECT id, map_entries(m), map_entries(ms) FROM nests;
SELECT id, sort_array(ai), sort_array(at, false), sort_array(an), sort_array(ay, false) FROM nests;
SELECT id, array_min(ai), array_max(ai), array_min(at), array_max(at), array_min(an), array_max(ay) FROM nests;
SELECT id, array_repeat(k, i), array_repeat(ai, 2), array_repeat(NULL, 2), array_repeat('x', NULL) FROM nests;
SELECT id, sequence(id, id + 3), sequence(i, 2), sequence(cast(i AS TINYINT), 3Y), sequence(5L, id) FROM nests WHERE id < 60;
SELECT id, e FROM nests LATERAL VIEW explode(sequence(0, i)) v AS e;

-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, transform(ai, x -> x + i), transform(at, (x, n) -> concat(x, n, k)), transform(aa, x -> size(x)) FROM nests WHERE i < 3 AND NOT coalesce(array_contains(ai, 2147483647), false);
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, transform(aa, x -> transform(x, y -> y * id)), transform(ast, x -> x.p), transform(ai, x -> struct(x, k)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, transform(ai, x -> CASE WHEN x > 0 THEN 10 div x ELSE -1 END), transform(at, x -> 'c'), transform(array(1, 2), x -> x + id) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, filter(ai, x -> x > 0), filter(at, x -> x = k), filter(at, (x, n) -> n % 2 = 0), filter(ast, x -> x IS NOT NULL) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, exists(ai, x -> x < 0), exists(at, x -> x = k), forall(ai, x -> x > 0), forall(at, x -> x IS NOT NULL), forall(at, x -> x <> k) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id FROM nests WHERE exists(ast, x -> x.`Q r` = 'x') OR forall(ai, x -> x = id);
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, exists(ai, x -> x = 1 OR 1 div (x - 1) > 0), forall(ai, x -> x <> 1 AND 10 div (x - 1) < 100) FROM nests WHERE id % 7 > 2;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, exists(array(1, 0), x -> 1 div x = id), forall(array(0, id), x -> x = 1 AND 1 div (x - 1) > 0) FROM nests WHERE id = 1;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, aggregate(st.in.v, id, (s, x) -> s + coalesce(x, 0)), reduce(at, '', (s, x) -> concat(s, coalesce(x, '?')), s -> upper(s)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, aggregate(ai, struct(0L AS n, 0L AS s), (a, x) -> struct(a.n + 1 AS n, a.s + coalesce(x, 0) AS s), a -> a.s / nullif(a.n, 0)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, zip_with(ai, at, (x, y) -> concat(coalesce(x, 0), coalesce(y, '-'))), zip_with(ai, aa, (x, y) -> named_struct('a', x, 'b', y)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, map_filter(m, (key, v) -> v > 0), transform_values(m, (key, v) -> concat(key, v)), transform_values(ms, (key, v) -> v.p + key) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, transform(ai, x -> 10 div (x - 1)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
-- expect: partly
SELECT id, transform(array(1, 2), x -> x + rand(5)) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, size(filter(ai, x -> x > 0)) AS n, sum(size(ai)) OVER (PARTITION BY k) AS s FROM nests;
SELECT k, max_by(at, id), min_by(st, id) FROM nests GROUP BY k;
