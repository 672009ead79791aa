-- Casts of arrays, structs and maps to others and to text: NULL at each level, elements that do not fit.
-- tables: nests

select id, cast(ai as array<bigint>), cast(ai as array<string>), cast(an as array<double>), cast(aa as array<array<int>>), cast(ay as array<timestamp>) from nests;

select id, string(ai), string(at), string(ad), string(an), string(ay), string(aa), string(array()), string(array(null)) from nests;

select id, string(st), string(struct(id)), string(ast), string(struct(st.in.v, struct(k))) from nests;

select id, cast(struct(id, k) as struct<a: string, b: binary>), cast(st as struct<x: bigint, s: string, d: decimal(12, 3), `in`: struct<u: date, v: array<string>>>) from nests;

select id, try_cast(at as array<int>), try_cast(struct(k) as struct<a: double>), try_cast(ad as array<tinyint>) from nests;

-- expect[ansi=true]: error CAST_INVALID_INPUT
select id, cast(at as array<int>) from nests;

-- expect[ansi=true]: error CAST_OVERFLOW
select id, cast(ai as array<tinyint>) from nests;

select array_contains(ai, 1L), array_union(ai, array(5L)), concat(ai, array(7L)), array_position(ai, 2147483647L) from nests;

select ai from nests union all select array(id) from nests;

select k, sum(size(ai)) from nests where ai <=> array(1L, null) or cast(ai as array<string>) = array('1') group by k;

-- set: spark.sql.legacy.castComplexTypesToString.enabled=true
-- expect: partly
select id, string(ai) from nests;

-- set: spark.sql.legacy.castComplexTypesToString.enabled=true
-- expect: partly
select id, string(m) from nests;

select id, string(m), string(ms), string(map(id, array(i, null))), string(map()), string(map(1.5, map(id, struct(st.in.u)))), string(map('', null, 'é', k)), string(map(DATE'2020-01-01', get(ad, 0))), string(map(true, st)), string(if(id % 3 = 0, null, map(X'4142', X'43'))), string(array(m)), string(struct(m)), string(map('m', m)) from nests;

-- NULL of any type.
SELECT id, cast(NULL AS ARRAY<INT>), ifnull(NULL, array(k)), array_append(cast(NULL AS ARRAY<INT>), i), cast(NULL AS MAP<STRING, INT>), cast(NULL AS STRUCT<a: INT, b: ARRAY<STRING>>) FROM nests;
-- set: spark.sql.optimizer.excludedRules=org.apache.spark.sql.catalyst.optimizer.ConstantFolding,org.apache.spark.sql.catalyst.optimizer.NullPropagation
SELECT id, cast(NULL AS ARRAY<INT>), array_append(cast(NULL AS ARRAY<INT>), i), coalesce(cast(NULL AS MAP<STRING, BIGINT>), m), cast(NULL AS STRUCT<a: INT>), typeof(ai), typeof(m), typeof(named_struct('a b', id, 'C', k)), typeof(array(cast(1 AS DECIMAL(9, 2)))) FROM nests;
