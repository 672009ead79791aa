-- Arrays as sets, sorted arrays of all flat types, elements side by side, insertions.
-- tables: nests
-- matrix: ansi=true,false ; aqe=true
-- Lambdas of Spark 4.3 fail over NULL elements of a column with a dictionary, which its other reader decodes.

SELECT id, array_distinct(ai), array_distinct(at), array_distinct(ad), array_distinct(an), array_distinct(ay) FROM nests;
SELECT id, array_distinct(concat(at, array(k), at)), array_distinct(array(i > 0, NULL, i > 0, i = 1)), array_distinct(concat(ad, reverse(ad))) FROM nests;
SELECT id, array_union(ai, ai), array_union(at, array(k, NULL)), array_union(ad, array(0.0D, -0.0D)), array_union(ay, array(DATE'1970-01-01')) FROM nests;
SELECT id, array_union(an, array(st.d)), array_union(ai, array(i)), array_union(ad, reverse(ad)), array_union(ai, array()) FROM nests;
SELECT id, array_intersect(ai, array(i, 1, NULL)), array_intersect(at, array('é', k, 'é')), array_intersect(ad, array(double('NaN'), 0.0D, NULL)), array_intersect(ai, st.in.v) FROM nests;
SELECT id, array_except(ai, array(i, 1)), array_except(at, array(k, NULL)), array_except(ad, array(-0.0D)), array_except(ad, array(double('NaN'), NULL)), array_except(st.in.v, ai) FROM nests;
SELECT id, arrays_overlap(ai, array(i, 2)), arrays_overlap(at, array(k)), arrays_overlap(ad, array(double('NaN'), NULL)), arrays_overlap(ad, array(-0.0D)), arrays_overlap(ai, st.in.v), arrays_overlap(ay, ay) FROM nests;
SELECT id FROM nests WHERE arrays_overlap(ai, array(1, 2)) AND size(array_distinct(at)) > 1;
-- Types that are compared by a dictionary, and more elements than are compared one by one.
SELECT id, array_distinct(array(cast(k AS BINARY), X'61', cast(k AS BINARY), X'')), array_distinct(array(cast(st.d AS DECIMAL(38, 10)), 1.5BD, 99999999999999999999999999.5BD, st.d)) FROM nests;
SELECT id, array_union(array(cast(k AS BINARY)), array(X'61', NULL)), array_except(array(cast(st.d AS DECIMAL(38, 2)), NULL), array(cast(1.25 AS DECIMAL(38, 2)))), arrays_overlap(array(cast(k AS BINARY), NULL), array(X'61')) FROM nests;
SELECT id, array_distinct(concat(sequence(0, 30), sequence(cast(id AS INT), 40), array(NULL), ai)), array_distinct(transform(sequence(0, 60), x -> cast((x * id) % 40 AS STRING))) FROM nests WHERE id < 60;
SELECT id, array_union(sequence(id, id + 40), sequence(0L, 30L)), array_intersect(sequence(id, id + 40), sequence(30L, 60L)), array_except(array(id, 70, 20), sequence(0L, 50L)), arrays_overlap(sequence(id, id + 25), array(60L)) FROM nests WHERE id < 60;
SELECT id, arrays_overlap(array(60L, NULL), sequence(id, id + 25)), array_except(concat(ai, sequence(0, 40)), concat(sequence(20, 50), ai)) FROM nests WHERE id < 60;
SELECT id, array_distinct(array(timestamp_seconds(id % 3), timestamp_seconds(0))), array_union(array(make_dt_interval(1), NULL), array(make_dt_interval(i))), array_distinct(array(float(st.d), float(0), -float(0))) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, transform(array(ad, array(-0.0D)), x -> array_distinct(x)), transform(array(ad), x -> array_union(x, x)), transform(array(ad, array(0.0D, -0.0D)), x -> arrays_overlap(x, array(0.0D))) FROM nests;
-- expect: partly array_distinct
SELECT id, array_distinct(aa) FROM nests;
-- expect: partly array_union
SELECT id, array_union(ast, ast) FROM nests;

SELECT id, arrays_zip(ai, at), arrays_zip(ai), arrays_zip(aa, ad, at, m_keys), arrays_zip(ai, array(1, 2, 3)) FROM (SELECT *, map_keys(m) AS m_keys FROM nests);
SELECT id, e.at, e.ai FROM nests LATERAL VIEW explode(arrays_zip(at, ai)) v AS e;
SELECT id, array_append(ai, i), array_append(at, k), array_prepend(at, k), array_prepend(aa, array(id)), array_append(ad, -0.0D), array_append(ast, NULL) FROM nests;
SELECT id, array_insert(ai, 2, i), array_insert(at, -1, k), array_insert(at, -4, k), array_insert(ai, 5, 7), array_insert(ai, -3, NULL), array_insert(aa, 1, array(id)) FROM nests;
SELECT id, array_insert(ai, i, 9), array_insert(at, i, k), array_insert(array(k), i, 'x') FROM nests WHERE i <> 0;
-- expect: error INVALID_INDEX_OF_ZERO
SELECT id, array_insert(array(k), i, 'x') FROM nests;
-- expect: error COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER
SELECT id, array_insert(ai, cast(2147483640 + id AS INT), 9) FROM nests WHERE id < 7;
-- expect: error COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION
SELECT id, array_insert(ai, cast(-2147483640 + id AS INT), 9) FROM nests WHERE id < 7;
-- expect: error COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION
SELECT id, array_insert(ai, 2147483645, 9) FROM nests WHERE id < 7;
SELECT id, array_append(IF(id < 0, ai, NULL), cast(10 div (id - id) AS INT)), array_insert(ai, cast(NULL AS INT), cast(10 div id AS INT)) FROM nests WHERE id > 0;
-- set: spark.sql.legacy.negativeIndexInArrayInsert=true
-- expect: partly array_insert
SELECT id, array_insert(ai, -2, 1) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, array_compact(ai), array_compact(at), array_compact(ast), array_compact(aa), array_compact(ad) FROM nests;

SELECT id, array_sort(ai), array_sort(at), array_sort(ad), array_sort(an), array_sort(ay), array_sort(array(i > 0, NULL, i = 1)) FROM nests;
SELECT id, sort_array(ad), sort_array(ad, false), sort_array(array(float(i), NULL, float(0), -float(0))), array_sort(array(1, id, -id)) FROM nests;
SELECT id, array_min(ad), array_max(ad), array_min(reverse(ad)), array_max(reverse(ad)), array_min(array(float(i), float('NaN'))), array_max(array(float(i), float('NaN'))) FROM nests;
SELECT id, sort_array(array(cast(k AS BINARY), X'61', X'')), array_sort(array(cast(st.d AS DECIMAL(38, 10)), NULL, 1.5BD, -1.5BD)), array_max(array(cast(st.d AS DECIMAL(38, 10)), 99999999999999999999999999.5BD)), array_min(array(k, 'b')) FROM nests;
SELECT id, sort_array(transform(sequence(0, 50), x -> (x * id) % 37)), array_sort(transform(sequence(0, 50), x -> cast((x * id) % 37 AS STRING))), sort_array(transform(sequence(0, 50), x -> IF(x % 9 = 0, NULL, (x * id) % 37)), false) FROM nests WHERE id < 60;
SELECT id, sort_array(array(i > 0, NULL, i = 1), false), array_min(array(i > 0, i = 1)), array_max(array(timestamp_seconds(id), timestamp_seconds(5))) FROM nests;
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
SELECT id, transform(array(ad), x -> sort_array(x)), transform(array(ad), x -> array_sort(x)), transform(array(ad), x -> array_min(x)) FROM nests;
SELECT id, sort_array(ar) AS a, sort_array(array(st, named_struct('x', 0, 'd', 0.5D), NULL, st)) AS b FROM (SELECT id, array(named_struct('a', i, 'b', double(id % 3)), NULL, named_struct('a', NULL, 'b', 0.0D), named_struct('a', i, 'b', -0.0D), named_struct('a', i, 'b', double('NaN'))) AS ar, named_struct('x', i, 'd', double(id)) AS st FROM nests);
SELECT id, sort_array(ar, false) AS a, array_min(ar) AS b, array_max(ar) AS c, sort_array(array(ai, NULL, array(1, 2), array(), ai), false) AS e, array_max(array(ai, array(1), NULL)) AS f, array_min(array(at, array())) AS g, array_min(slice(ar, 1, 0)) AS h, sort_array(slice(ar, 1, 0)) AS i FROM (SELECT id, ai, at, array(named_struct('a', i, 'b', double(id % 3), 't', timestamp_seconds(id)), NULL, named_struct('a', NULL, 'b', 0.0D, 't', NULL), named_struct('a', i, 'b', -0.0D, 't', NULL), named_struct('a', i, 'b', double('NaN'), 't', timestamp_seconds(0))) AS ar FROM nests);
SELECT id % 3 AS k, sort_array(collect_list(struct(id, i))) AS a, sort_array(collect_list(named_struct('d', -id, 'i', i)), false).d AS b FROM nests GROUP BY 1;
-- expect: partly sort_array
SELECT id, sort_array(array(0.0D, -0.0D, coalesce(double(id), 1.0D))) FROM nests;
-- Comparisons of keys by lambdas: orders, and others, for which the steps of Java's sort count.
SELECT id, array_sort(ai, (l, r) -> CASE WHEN l < r THEN -1 WHEN l > r THEN 1 ELSE 0 END), array_sort(at, (l, r) -> CASE WHEN l < r THEN 1 WHEN l > r THEN -1 ELSE 0 END), array_sort(ad, (l, r) -> CASE WHEN l IS NULL AND r IS NULL THEN 0 WHEN l IS NULL THEN -1 WHEN r IS NULL THEN 1 WHEN l < r THEN 5 WHEN l > r THEN -7 ELSE 0 END), array_sort(array(5, 6, 1, id), (l, r) -> IF(l < r, -1, IF(l > r, 1, 0))) FROM nests;
SELECT id, array_sort(ast, (l, r) -> CASE WHEN l.p < r.p THEN 1 WHEN l.p > r.p THEN -1 WHEN l.`Q r` < r.`Q r` THEN -1 ELSE 0 END), array_sort(ast), array_sort(aa), array_sort(at, (x, y) -> CASE WHEN length(x) < length(y) THEN -1 WHEN length(x) > length(y) THEN 1 WHEN upper(x) <= upper(y) THEN -1 ELSE 1 END) FROM nests;
SELECT id, array_sort(transform(sequence(0, id), x -> nullif((x * 7919) % 37, 5)), (l, r) -> CASE WHEN l < r THEN -1 WHEN l > r THEN 1 ELSE 0 END) FROM nests WHERE id < 41;
SELECT id, array_sort(transform(sequence(0, id), x -> struct((x * 7919) % 11 AS a, nullif((x * 31) % 7, 3) AS b, x AS c)), (l, r) -> CASE WHEN l.a < r.a THEN -1 WHEN l.a > r.a THEN 1 WHEN l.b > r.b THEN -1 WHEN l.b < r.b THEN 1 ELSE 0 END) FROM nests WHERE id < 230;
-- Java finds that NULL equals numbers that differ.
-- errors: exact
-- expect: error
SELECT id, array_sort(transform(sequence(0, id), x -> nullif((x * 7919) % 37, 5)), (l, r) -> CASE WHEN l < r THEN -1 WHEN l > r THEN 1 ELSE 0 END) FROM nests WHERE id = 100;
SELECT id, array_sort(transform(sequence(0, 3 * id), x -> struct(x DIV 9 * IF(x % 2 = 0, 1, -1) AS a, x AS c)), (l, r) -> CASE WHEN l.a < r.a THEN -1 WHEN l.a > r.a THEN 1 ELSE 0 END), array_sort(transform(sequence(0, 3 * id), x -> struct(IF(x % 41 = 0, NULL, abs(x - 100) DIV 3) AS a, x AS c)), (l, r) -> CASE WHEN l.a < r.a THEN 1 WHEN l.a = r.a THEN 0 ELSE -1 END) FROM nests WHERE id < 25;
SELECT id, array_sort(ai, (l, r) -> CASE WHEN NOT (l <=> r) AND (l > r OR l IS NULL) THEN 1 WHEN l <=> r THEN 0 ELSE -1 END), array_sort(transform(sequence(0, 10 + id % 60), x -> (x * 7919) % 13), (l, r) -> CASE WHEN l < r THEN -1 ELSE 1 END) FROM nests;
-- set: spark.sql.legacy.allowNullComparisonResultInArraySort=true
SELECT id, array_sort(ai, (l, r) -> CASE WHEN l < r THEN -1 WHEN l > r THEN 1 WHEN l = r THEN 0 END) FROM nests;
-- A comparison that may be NULL, and one that reads other than keys of both elements.
-- oracle: spark.sql.parquet.enableNestedColumnVectorizedReader=false
-- expect: partly array_sort
SELECT id, array_sort(ai, (l, r) -> CASE WHEN l < r THEN -1 WHEN l > r THEN 1 WHEN l = r THEN 0 END) FROM nests WHERE NOT exists(ai, x -> x IS NULL);
-- Keys that are made of elements and columns.
SELECT id, array_sort(ad, (l, r) -> CASE WHEN abs(l - i) < abs(r - i) THEN -1 WHEN abs(l - i) > abs(r - i) THEN 1 ELSE 0 END) AS a, array_sort(at, (l, r) -> CASE WHEN concat(l, k) < concat(r, k) THEN -1 WHEN concat(l, k) > concat(r, k) THEN 1 ELSE 0 END) AS b, array_sort(at, (l, r) -> IF(coalesce(l, k) < coalesce(r, k), -1, IF(coalesce(l, k) > coalesce(r, k), 1, 0))) AS c, array_sort(at, (l, r) -> CASE WHEN levenshtein(l, k) > levenshtein(r, k) THEN -1 WHEN levenshtein(l, k) < levenshtein(r, k) THEN 1 WHEN lower(trim(l)) < lower(trim(r)) THEN -1 ELSE 0 END) AS e FROM nests;
SELECT id, array_sort(ay, (l, r) -> CASE WHEN datediff(l, DATE'2000-01-01') > datediff(r, DATE'2000-01-01') THEN -1 WHEN datediff(l, DATE'2000-01-01') < datediff(r, DATE'2000-01-01') THEN 1 ELSE 0 END) AS a, array_sort(ay, (l, r) -> CASE WHEN month(l) < month(r) THEN -1 WHEN month(l) > month(r) THEN 1 WHEN day(l) < day(r) THEN -1 WHEN day(l) > day(r) THEN 1 ELSE 0 END) AS b, array_sort(ai, (l, r) -> CASE WHEN CAST(l AS string) < CAST(r AS string) THEN -1 WHEN CAST(l AS string) > CAST(r AS string) THEN 1 ELSE 0 END) AS c, transform(aa, x -> array_sort(x, (l, r) -> CASE WHEN substring(CAST(l AS string), i) < substring(CAST(r AS string), i) THEN -1 WHEN substring(CAST(l AS string), i) > substring(CAST(r AS string), i) THEN 1 ELSE 0 END)) AS e FROM nests;
SELECT id, array_sort(transform(sequence(0, id), x -> struct((x * 7919) % 11 AS a, nullif((x * 31) % 7, 3) AS b)), (l, r) -> CASE WHEN l.a + i * 1D < r.a + i * 1D THEN -1 WHEN l.a + i * 1D > r.a + i * 1D THEN 1 ELSE 0 END) AS a, array_sort(transform(sequence(0, id), x -> (x * 7919) % 37), (l, r) -> CASE WHEN l * 1.5D * i <= r * 1.5D * i THEN -1 ELSE 1 END) AS b FROM nests WHERE id < 100;
-- expect[ansi=true]: partly array_sort
SELECT id, array_sort(ai, (l, r) -> CASE WHEN abs(l - i) < abs(r - i) THEN -1 WHEN abs(l - i) > abs(r - i) THEN 1 ELSE 0 END) AS a, array_sort(ai, (l, r) -> CASE WHEN l % 3 < r % 3 THEN -1 WHEN l % 3 > r % 3 THEN 1 WHEN -l < -r THEN -1 WHEN -l > -r THEN 1 ELSE 0 END) AS b FROM nests WHERE id % 2 = 0 AND NOT exists(ai, x -> abs(x) > 100000);
-- expect: partly array_sort
SELECT id, array_sort(ai, (l, r) -> CASE WHEN l < i THEN -1 WHEN r < i THEN 1 ELSE 0 END) FROM nests WHERE size(ai) < 2;
-- expect: partly array_sort
SELECT id, array_sort(ai, (x, y) -> y - x) FROM nests WHERE size(ai) < 2 AND ai IS NOT NULL;
SELECT id, array_size(ai), cardinality(at), array_position(ad, double(i)), array_position(reverse(ad), -0.0D), try_element_at(m, k), try_element_at(ai, 3) FROM nests;
SELECT x, count(*) FROM (SELECT explode(array_union(array(k), at)) AS x FROM nests) GROUP BY x;
-- The error of the index 0 names its place in the query in ANSI mode only.
-- expect: error INVALID_INDEX_OF_ZERO
-- errors: exact
SELECT element_at(array(id, 2), CAST(id AS int) - 1) AS a FROM range(1, 2);
-- expect: error INVALID_INDEX_OF_ZERO
-- errors: exact
SELECT try_element_at(array(id, 2), CAST(id AS int) - 1) AS a FROM range(1, 2);
