-- Values in JSON documents: paths of members and elements, lengths of arrays, names of members.
-- tables: documents, texts

SELECT id, get_json_object(j, '$') AS a FROM documents;
SELECT id, get_json_object(j, '$.a') AS a FROM documents;
SELECT id, get_json_object(j, '$.a.b') AS a, length(get_json_object(j, '$.b.a')) AS b FROM documents;
SELECT id, get_json_object(j, '$.a[1]') AS a FROM documents;
SELECT id, get_json_object(j, '$[0]') AS a FROM documents;
SELECT id, get_json_object(j, '$[1].a.b') AS a FROM documents;
SELECT id, get_json_object(j, '$[1][1]') AS a FROM documents;
SELECT id, get_json_object(j, '$.a.b[2]') AS a FROM documents;
SELECT id, get_json_object(j, '$.b.a[0].b') AS a FROM documents;
SELECT id, get_json_object(j, '$[999]') AS a FROM documents;
SELECT id, get_json_object(j, "$['a']['b']") AS a FROM documents;
SELECT id, get_json_object(j, "$['a.b']") AS a FROM documents;
SELECT id, get_json_object(j, "$.a['b c']") AS a FROM documents;
SELECT id, get_json_object(j, '$.a.é') AS a FROM documents;
SELECT id, get_json_object(j, '$.a.😀') AS a FROM documents;
SELECT id, get_json_object(j, '$.a.b c') AS a FROM documents;
SELECT id, get_json_object(j, '$.a.b ') AS a FROM documents;
SELECT id, get_json_object(j, '$.a�') AS a FROM documents;
-- Several paths of one document.
SELECT id, get_json_object(j, '$.a') AS a, get_json_object(j, '$.b') AS b, get_json_object(j, '$.z') AS c FROM documents;
SELECT id, get_json_object(j, '$.a.b') AS a, get_json_object(j, '$.a.c') AS b, get_json_object(j, '$[1]') AS c, get_json_object(j, '$.z[0].a') AS d FROM documents;
SELECT id, get_json_object(j, CASE WHEN id % 2 = 0 THEN '$.a' WHEN id % 3 = 0 THEN '$[1]' END) AS a FROM documents;
SELECT id, get_json_object(s, '$.a') AS a, json_array_length(s) AS b, json_object_keys(s) AS c FROM texts;
SELECT id, get_json_object(concat('{"a":"', flag, '","b":[', CAST(pos AS string), ']}'), '$.a') AS a, get_json_object(concat('{"a":"', flag, '","b":[', CAST(pos AS string), ']}'), '$.b[0]') AS b FROM texts;
SELECT id, json_array_length(j) AS a, json_array_length(get_json_object(j, '$.a')) AS b FROM documents;
SELECT id, json_object_keys(j) AS a FROM documents;
SELECT id, json_object_keys(get_json_object(j, '$.a')) AS a, size(json_object_keys(j)) AS b FROM documents;
SELECT count(*) AS a FROM documents WHERE get_json_object(j, '$.a') = '1';
SELECT get_json_object(j, '$.a') AS a, count(*) AS b FROM documents GROUP BY 1;
SELECT id, get_json_object(NULL, '$.a') AS a, get_json_object(j, NULL) AS b FROM documents;
SELECT get_json_object(j, '$.a') AS a, json_array_length(j) AS b, json_object_keys(j) AS c FROM documents WHERE id = 3;
SELECT get_json_object(j, '$.a') AS a, json_array_length(j) AS b, json_object_keys(j) AS c FROM documents WHERE id < 0;
-- Wildcards: several matches, one, or none, in the elements of arrays and of arrays in them.
SELECT id, get_json_object(j, '$.a[*]') AS a, get_json_object(j, '$[*]') AS b, get_json_object(j, '$[*].a') AS c, get_json_object(j, '$[*][*]') AS d, get_json_object(j, '$.b.a[*].b') AS e, get_json_object(j, '$[1][*]') AS f, get_json_object(j, '$.*') AS g, get_json_object(j, "$.a['*']") AS h, get_json_object(j, CASE WHEN id % 2 = 0 THEN '$.a[*]' WHEN id % 3 = 0 THEN '$[1]' END) AS i FROM documents;
SELECT get_json_object(d, '$[*]') AS a, get_json_object(d, '$[*].a') AS b, get_json_object(d, '$[*].a[*]') AS c, get_json_object(d, '$[*][*].b') AS d, get_json_object(d, '$[*].a[*].b[*]') AS e, get_json_object(d, '$[0][*]') AS f, get_json_object(d, '$[*][*][*]') AS g, get_json_object(d, '$[2].a[0][*]') AS h, get_json_object(d, '$[*][0]') AS i, get_json_object(d, "$[*]['a'][1].b") AS j FROM (SELECT concat('[[1,["é😀","\\u00e9\\"",', id, '],{"b":"x"}],{"a":[{"b":[1.50,-0]},{"b":null},{"b":[[]]}]},{"a":[[]],"a":[[1e400, "q"]]},{"a":"y"},[],null,[[2],"😀\\ud83d"]]') AS d FROM documents);
-- Paths that Spark does not accept, and those of columns.
-- expect: partly
SELECT id, get_json_object(j, 'a') AS a FROM documents;
-- expect: partly
SELECT id, get_json_object(j, p) AS a FROM documents;
-- Names with the characters of a document's grammar.
SELECT id, get_json_object(j, '$.b":2,"a') AS a, get_json_object(j, "$['a\":1,\"b']") AS b, get_json_object(j, '$.a.b\\n') AS c FROM documents;
-- The values of several names.
SELECT id, a, b FROM documents LATERAL VIEW json_tuple(j, 'a', 'b') AS a, b;
SELECT id, json_tuple(j, 'b', 'a', 'z', 'a', 'a.b', '', 'é') FROM documents;
SELECT id, x.* FROM documents LATERAL VIEW OUTER json_tuple(j, 'a":1,"b', 'b\\n', '�', '😀') x AS a, b, c, d;
SELECT id, b, c FROM documents LATERAL VIEW json_tuple(j, 'a') AS a LATERAL VIEW json_tuple(a, 'b', 'c') AS b, c;
SELECT count(*) AS a, max(b) AS b FROM documents LATERAL VIEW json_tuple(j, 'a', 'b') AS a, b;
SELECT id, json_tuple(s, 'a') FROM texts WHERE id < 0;
SELECT id, json_tuple(s, 'a') FROM texts;
SELECT id, json_tuple(j, p, 'a') FROM documents;
SELECT id, json_tuple(j, CAST(NULL AS string), 'a') FROM documents;
SELECT id, json_tuple(j, if(id % 3 = 0, 'a', NULL), if(id % 2 = 0, 'b', p)) FROM documents;
