-- Structs, arrays and maps as JSON: all types, formats of dates and timestamps, NULL fields written or not.
-- tables: nests, numbers, times, texts

SELECT id, to_json(st) AS a, to_json(ai) AS b, to_json(at) AS c, to_json(ad) AS d, to_json(an) AS e FROM nests;
SELECT id, to_json(ay) AS a, to_json(aa) AS b, to_json(m) AS c, to_json(ms) AS d, to_json(ast) AS e FROM nests;
SELECT id, to_json(struct(*)) AS a FROM nests;
SELECT id, to_json(struct(*)) AS a FROM numbers;
SELECT id, to_json(struct(*)) AS a FROM times;
SELECT id, to_json(struct(*)) AS a FROM texts;
SELECT id, to_json(array(struct(*), NULL)) AS a, to_json(map('k', struct(*), 'l', NULL)) AS b FROM texts;
SELECT id, to_json(array(f, f + 1)) AS a, to_json(array(d, -d)) AS b, to_json(array(n38, n18)) AS c, to_json(array(b, NULL)) AS d FROM numbers;
SELECT id, to_json(array(bin)) AS a, to_json(array(s, s2, NULL, ds)) AS b FROM texts;
SELECT id, to_json(array(d, NULL)) AS a, to_json(array(ts, ts2)) AS b, to_json(array(ntz)) AS c FROM times;
-- Keys of maps.
SELECT id, to_json(map(i, l)) AS a, to_json(map(n38, n9)) AS d, to_json(map(b, t)) AS e FROM numbers WHERE i IS NOT NULL AND d IS NOT NULL AND f IS NOT NULL AND n38 IS NOT NULL AND b IS NOT NULL;
SELECT id, to_json(map(s, s2)) AS a, to_json(map(coalesce(s2, ''), bin)) AS b FROM texts WHERE s IS NOT NULL;
SELECT id, to_json(map(d, 1)) AS a, to_json(map(ts, 1)) AS b, to_json(map(ntz, 1)) AS c FROM times WHERE d IS NOT NULL AND ts IS NOT NULL AND ntz IS NOT NULL;
SELECT id, to_json(map_from_arrays(array(d), array(1))) AS a FROM numbers WHERE d IS NOT NULL;
-- Decimals with many zeros.
SELECT id, to_json(struct(CAST(n9 / 1000000000 AS decimal(38, 30)) AS a, CAST(0 AS decimal(7, 7)) AS b, CAST(n18 AS decimal(38, 7)) AS c, CAST(i / 10000000 AS decimal(18, 12)) AS d)) AS a FROM numbers;
-- Names, Unicode and nested NULLs.
SELECT id, to_json(named_struct('a"b\\', s, 'é😀', s2, '', pos, 'A', NULL, 'a\n', struct(NULL AS x, struct(len AS y) AS z))) AS a FROM texts;
SELECT id, to_json(struct(NULL AS a)) AS a, to_json(struct(array() AS b, map() AS c)) AS b, to_json(struct(if(i > 0, i, NULL) AS a, if(i > 1, 'x', NULL) AS b, if(i > 2, d, NULL) AS c)) AS c FROM numbers;
SELECT id, to_json(if(i > 0, st, NULL)) AS a, to_json(if(i > 0, ast, NULL)) AS b, to_json(st.in) AS c FROM nests;
-- Options.
SELECT id, to_json(st, map('ignoreNullFields', 'false')) AS a, to_json(ast, map('IGNORENULLFIELDS', 'False')) AS b, to_json(ms, map('ignoreNullFields', 'true')) AS c FROM nests;
SELECT id, to_json(struct(*), map('ignoreNullFields', 'false')) AS a FROM numbers;
SELECT id, to_json(struct(*), map('ignoreNullFields', 'false')) AS a FROM texts;
SELECT id, to_json(struct(*), map('ignoreNullFields', 'false', 'timestampFormat', 'dd/MM/yyyy HH:mm:ss.SSSSSS XXX', 'dateFormat', 'd.M.yy EEE')) AS a FROM times;
SELECT id, to_json(struct(*), map('timestampNTZFormat', "yyyy-MM-dd'T'HH:mm", 'timestampFormat', 'yyyy')) AS a FROM times;
SELECT count(*) AS a FROM nests WHERE to_json(st) LIKE '%"x":1,%' AND to_json(m) <> '{}';
SELECT to_json(m) AS a, count(*) AS b FROM nests GROUP BY 1;
SELECT to_json(collect_list(struct(id, k))) AS a FROM (SELECT id, k FROM nests WHERE id < 5 ORDER BY id);
SELECT to_json(struct(*)) AS a, to_json(ai) AS b, to_json(m) AS c FROM nests WHERE id = 3;
SELECT to_json(struct(*)) AS a, to_json(ai) AS b, to_json(m) AS c FROM nests WHERE id < 0;
-- set: spark.sql.jsonGenerator.ignoreNullFields=false
SELECT id, to_json(st) AS a, to_json(ast) AS b, to_json(struct(*)) AS c, to_json(st, map('ignoreNullFields', 'true')) AS d FROM nests;
-- set: spark.sql.session.timeZone=America/Los_Angeles
SELECT id, to_json(struct(*)) AS a FROM times;
-- set: spark.sql.session.timeZone=Africa/Monrovia
SELECT id, date_format(u, 'XXXXX') AS a, to_json(struct(u), map('timestampFormat', 'XXX')) AS b FROM (SELECT id, st.in.u AS u FROM nests);
-- set: spark.sql.session.timeZone=Africa/Monrovia
SELECT id, to_json(struct(*)) AS a, to_json(st) AS b FROM nests;
-- Other options, types of keys and values.
-- expect: partly
SELECT id, to_json(st, map('pretty', 'true')) AS a FROM nests;
-- expect: partly
SELECT id, to_json(struct(ts), map('timeZone', 'UTC')) AS a FROM times;
-- expect: partly
SELECT id, to_json(map(array(i), 1)) AS a FROM numbers;
-- expect: partly
SELECT id, to_json(struct(ts - ts2 AS a)) AS a FROM times;
