-- Expressions that Spark evaluates for the engine: patterns and formats in columns, intervals, variants, XML, excluded functions.
-- tables: texts, times, numbers, tame, nests, documents
-- matrix: ansi=true,false ; aqe=true ; tz=UTC,America/Los_Angeles ; batch=131072,7
-- set: spark.pysparkPipeline.jvmExpressions=true ; spark.pysparkPipeline.exclude=reverse,negative,div,nvl2,array_distinct,map_filter,named_struct,struct,array_sort,hash,from_json,from_csv

SELECT id, s RLIKE concat('^.{0,', id % 4, '}$') AS a, regexp_replace(s, concat('[', flag, 'a-c]'), '<$0>') AS b, regexp_extract_all(s2, CASE WHEN id % 2 = 0 THEN '(\\w)(\\w)' ELSE concat('(', flag, ')') END, 1) AS c FROM texts WHERE flag IS NOT NULL;
SELECT id, date_format(ts, CASE id % 4 WHEN 0 THEN 'yyyy-MM-dd' WHEN 1 THEN 'EEEE, d MMMM y' WHEN 2 THEN concat('''', tdays, '''', 'HH:mm:ss.SSS') END) AS a, to_timestamp(cast(d AS string), concat('yyyy-MM-', 'dd')) AS b FROM times WHERE d BETWEEN DATE'1900-01-01' AND DATE'2100-01-01';
SELECT id, cast(d - d2 AS string) AS a, cast(make_interval(id, tdays, id) AS string) AS b, cast(ntz - TIMESTAMP_NTZ'2000-01-01 00:00:00' AS string) AS c FROM times WHERE d IS NOT NULL;
SELECT id, variant_get(parse_json(concat('{"a": [', id, ', "x"]}')), '$.a[0]', 'int') AS a, cast(parse_json(concat('[', i, ', 1.5]')) AS string) AS b FROM tame;
SELECT id, xpath(concat('<a><b>', id, '</b><b>', coalesce(k, 'é'), '</b></a>'), 'a/b/text()') AS a, xpath_double(concat('<a><b>', d, '</b></a>'), 'sum(a/b)') AS b FROM tame;
SELECT id, to_xml(struct(1 AS a, hex(s) AS b)) AS a, to_xml(struct(1 AS a, flag AS b)) AS b, concat_ws('-', 'x', reverse(flag)) AS c FROM texts;
-- Values of each type, as arguments and as results.
SELECT id, nvl2(b, t, s) AS a, nvl2(b, i, nothing) AS c, nvl2(b, f, d) AS e, nvl2(b2, n9, n38) AS g, nvl2(b2, n18, n380) AS h, -l AS j, hash(t, s, i, l, f, d, n9, n18, n38, n380, b) AS m FROM numbers WHERE l > -9223372036854775808;
SELECT id, reverse(s) AS a, nvl2(flag, s, s2) AS b, nvl2(flag, bin, NULL) AS c, hash(s, bin) AS e FROM texts;
SELECT id, nvl2(days, d, d2) AS a, nvl2(days, ts, ts2) AS b, nvl2(days, ntz, NULL) AS c, nvl2(days, d - d2, d2 - d) AS e, hash(d, ts, ntz) AS f FROM times;
SELECT id, array_distinct(ai) AS a, array_distinct(at) AS b, array_distinct(aa) AS c, array_distinct(ast) AS e, reverse(ad) AS f, nvl2(i, st, NULL) AS g, nvl2(i, m, NULL) AS h, map_filter(m, (k, v) -> v > 0) AS j, named_struct('x', at, 'y', st) AS l FROM nests;
SELECT id, array_sort(ai, (x, y) -> CASE WHEN x < y THEN i % 2 WHEN x > y THEN -1 ELSE 0 END) AS a FROM nests WHERE i % 2 = 1;
-- An array whose maps have no offsets in Arrow's Java; expressions with fields that are not serialized.
SELECT id, from_json(j, 'ARRAY<MAP<STRING, STRING>>') AS a, from_json(j, 'a INT, _corrupt_record STRING') AS b, from_csv(j, 'a INT, _corrupt_record STRING') AS c FROM documents;
-- Below and above other functions, as keys, arguments of aggregates, in conditions, generators and sorts.
SELECT upper(reverse(lower(s))) AS a, length(concat(reverse(s2), flag)) AS b FROM texts;
SELECT reverse(k) AS a, sum(-n15) AS b, max(reverse(cast(i AS string))) AS c, count(*) FILTER (WHERE reverse(k) = 'x') AS e FROM tame GROUP BY reverse(k);
SELECT reverse(k) AS a, count(DISTINCT -i) AS b FROM tame GROUP BY reverse(k) HAVING count(-i) > 2;
SELECT id FROM texts WHERE s > 'a' AND reverse(s) > 'b' AND flag = 'R' OR reverse(flag) = 'N';
SELECT id, x FROM (SELECT id, explode(array_distinct(ai)) AS x FROM nests) WHERE -x > -5;
-- expect: partly reverse is excluded
SELECT id, k FROM tame ORDER BY reverse(k) NULLS LAST, -id;
SELECT id, k FROM tame ORDER BY -id LIMIT 7;
SELECT a.id, b.x FROM tame a JOIN (SELECT id, reverse(k) AS x FROM tame) b ON a.id = -(-b.id) AND a.k = b.x;
SELECT id, sum(x) OVER (PARTITION BY y ORDER BY id) AS a FROM (SELECT id, -z AS x, reverse(k) AS y FROM tame);
SELECT id, transform(at, x -> concat(x, k)) AS a, reverse(transform(at, x -> reverse(x))) AS b FROM nests;
SELECT count(reverse(s)), max(-id) FROM texts WHERE id < 0;
SELECT id, reverse(s) AS a FROM texts WHERE id > 1000000;
SELECT reverse('abc') AS a, -5 AS b, id FROM tame;
-- Several expressions over the same columns in one call: values of each type, in projections, aggregates, sorts, conditions.
SELECT id, nvl2(t, 1Y, t) AS a, nvl2(t, s, 2S) AS b, nvl2(t, i, -1) AS c, nvl2(s, l, 3L) AS d, nvl2(s, f, 1.5F) AS e, nvl2(s, d, 0.5D) AS f, nvl2(t, n9, n9) AS g, nvl2(s, n18, n18) AS h, nvl2(t, n38, n38) AS j FROM numbers;
SELECT id, nvl2(n9, 1, 2) AS a, nvl2(n9, n9, 0.00) AS b, nvl2(n9, cast(n9 AS string), 'x') AS c, nvl2(n9, n9 > 1, b) AS d, nvl2(b, n9, 1) AS e FROM numbers;
SELECT id, nvl2(n18, n38, NULL) AS a, nvl2(n38, n18, NULL) AS b, nvl2(n38, cast(n18 AS string), 'é') AS c FROM numbers;
SELECT id, reverse(s) AS a, nvl2(s, 1, 2) AS b, nvl2(s, cast(s AS binary), X'00') AS c, nvl2(s, array(s, NULL), NULL) AS d, nvl2(s, named_struct('x', s), NULL) AS e FROM texts;
SELECT id, nvl2(d, ts, NULL) AS a, nvl2(ts, d, DATE'2020-02-29') AS b, nvl2(ts, datediff(d, ts), -1) AS c, nvl2(d2, ntz, NULL) AS e, nvl2(ntz, d2, NULL) AS f FROM times;
SELECT flag, sum(nvl2(id, 1, id)) AS a, sum(nvl2(id, id, 0)) AS b, max(nvl2(id, cast(id AS string), '')) AS c, avg(nvl2(id, id % 7, 0)) AS e, count(nvl2(id, NULL, id)) FILTER (WHERE id > 3) AS f FROM texts GROUP BY flag;
SELECT nvl2(n15, n15, 0) AS k, nvl2(n15, 1, 2) AS k2, sum(nvl2(n15, n15, 1)) AS a, max(-n15) AS b, count(*) AS c FROM tame GROUP BY 1, 2;
SELECT id, nvl2(i, i, 0) AS a, nvl2(i, -i, 1) AS b FROM tame ORDER BY nvl2(i, i, 0), -i, id LIMIT 9;
SELECT id FROM tame WHERE (nvl2(i, i, 0) > 2 AND -i < -3) OR (nvl2(z, i, 1) > 0 AND -z < 0) OR (reverse(k) > 'b' AND nvl2(k, true, false));
SELECT id, CASE WHEN z > 0 THEN nvl2(z, -z, 0) ELSE -z END AS a, nvl2(z, z, 1) AS b, -z AS c FROM tame;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
-- errors: exact
-- set: spark.pysparkPipeline.exclude=div,negative
SELECT id, -z AS a, 10 div z AS b FROM tame WHERE id < 40;
-- Rows that Spark does not evaluate, and the first row that raises.
SELECT id, CASE WHEN z <> 0 THEN 10 div z END AS a, IF(z > 0, 5 div z, -1) AS b, coalesce(i, 10 div z) AS c FROM tame WHERE i IS NOT NULL OR z <> 0;
SELECT id FROM tame WHERE z <> 0 AND 10 div z > 4;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
-- errors: exact
-- set: spark.pysparkPipeline.exclude=div
SELECT id, 10 div z AS a FROM tame WHERE id < 40;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT z, sum(10 div z) AS a FROM tame GROUP BY z;
-- expect: error
SELECT id, s RLIKE concat('(', flag) AS a FROM texts;
SELECT id, try_divide(id, z) AS a, try_to_timestamp(k, concat('yyyy', id)) AS b FROM tame;
-- A map that an error has left half built.
-- expect: error DUPLICATED_MAP_KEY
-- errors: exact
-- set: spark.pysparkPipeline.exclude=str_to_map
SELECT id, str_to_map(concat(id, ':1,7:2')) AS a FROM tame;
