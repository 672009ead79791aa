-- Fields, elements and sizes of arrays, maps and structs, and how they are made of columns.
-- tables: nests, texts
-- matrix: ansi=true,false ; aqe=true

SELECT id, st.x, st.s, st.d, st.in, st.in.u, st.in.v AS v FROM nests;
SELECT id, ast.p, ast.`Q r` FROM nests;
SELECT id, size(ai), cardinality(m), array_size(at), size(aa), size(ms) FROM nests;
SELECT id, get(at, i), get(ai, 0), get(aa, 1), get(aa, 0)[0] FROM nests WHERE id % 7 = 3 OR id % 7 = 0;
SELECT id, at[0], st.in.v[1] FROM nests WHERE size(at) > 0 AND size(st.in.v) = 2;
-- expect[ansi=true]: error INVALID_ARRAY_INDEX
SELECT id, at[i] FROM nests;
-- expect[ansi=true]: error INVALID_ARRAY_INDEX
SELECT id, ai[cast(id AS TINYINT)] FROM nests WHERE id < 100;
SELECT id, ai[4294967296] FROM nests WHERE size(ai) > 2;
SELECT id, element_at(at, 1), element_at(at, -1), element_at(st.in.v, -2) FROM nests WHERE size(at) > 0 AND size(st.in.v) = 2;
-- expect[ansi=true]: error INVALID_ARRAY_INDEX_IN_ELEMENT_AT
SELECT id, element_at(at, i) FROM nests WHERE i <> 0;
SELECT id, try_element_at(at, i), try_element_at(ai, 2), try_element_at(aa, -1) FROM nests WHERE i <> 0;
SELECT id, m['a'], m['é'], m[k], element_at(m, k), try_element_at(m, ''), ms[2], ms[i] FROM nests;
SELECT id, map_keys(m), map_values(m), map_keys(ms), map_values(ms) FROM nests;
SELECT id, array_contains(at, k), array_contains(at, 'é'), array_contains(ai, i), array_contains(ay, DATE'1970-01-01') FROM nests;
SELECT id, array_contains(ad, double('NaN')), array_contains(ad, 0.0D), array_contains(ad, -0.0D), array_contains(an, -99.10BD) FROM nests;
SELECT id, array(id, i, NULL), array(k, 'é'), array(st.d, 1.5BD), array(array(id), array(-id)) FROM nests WHERE id < 70;
SELECT id, struct(id, k), named_struct('a', at, 'b c', st, 'd', named_struct('e', i)), struct(m) FROM nests;
SELECT id, array(named_struct('a', id, 'b', k), named_struct('a', -id, 'b', k)).b[1] FROM nests;
SELECT id FROM nests WHERE st.in IS NULL AND ast IS NOT NULL AND m['a'] IS NULL;
SELECT id FROM nests WHERE size(ai) > 3 OR array_contains(at, 'é') AND st.s <> 'a';
SELECT size(ai) AS n, count(*), sum(st.x) FROM nests GROUP BY size(ai);
SELECT st.s AS s, first(struct(id)) AS f FROM nests WHERE id % 5 = 3 AND id < 5 GROUP BY st.s;
SELECT id, IF(id > 3, at, NULL), coalesce(ai, array(7)), CASE WHEN i > 0 THEN st WHEN i < 0 THEN NULL END, nvl(m, map('z', 1L)) FROM nests;
SELECT id, IF(id > 300, array(cast(10 div (id - 300) AS INT)), ai), coalesce(at, array(k)) FROM nests;
SELECT id, array('a', 'é', NULL) AS x, map(1, 'x', 2, NULL)[i] AS y, named_struct('a', 1, 'b', array(DATE'1500-01-01')) AS z, array() AS w FROM nests;
SELECT id, array_contains(array('a', NULL), k), array(1, 2, 3)[i], element_at(map('a', X'00', 'é', X'FF'), k) FROM nests WHERE i BETWEEN 0 AND 2;
SELECT split(s, ' '), split(s, 'a'), split(s, '[ab,]+'), split(s, ',', -1), size(split(s, '\\s+')) FROM texts;
