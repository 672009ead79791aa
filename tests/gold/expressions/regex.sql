-- Regular expressions as Java evaluates them, on odd strings, line terminators and dictionary columns.
-- tables: texts
-- matrix: ansi=true

SELECT id, s RLIKE 'a' AS a, s RLIKE '^a.*c$' AS b, s RLIKE '[a-zA-Z]+' AS c, s RLIKE '(a|b)+c' AS d, s RLIKE 'x|y' AS e, s RLIKE 'a|b|' AS f, flag RLIKE '^[RA]$' AS g FROM texts;
SELECT id, ds RLIKE '^\\d{4}-\\d{2}-\\d{2}$' AS a, ds RLIKE '\\s' AS b, ds RLIKE '^\\S+$' AS c, ds RLIKE '\\W' AS d, ds RLIKE '^[^-]+-' AS e FROM texts;
SELECT id, concat('a', chr(id % 32), 'b') RLIKE 'a.b' AS a, concat('a', chr(id % 32)) RLIKE 'a$' AS b, concat('a', chr(id % 32), 'b') RLIKE 'a\\sb' AS c, concat('ab', chr(13), chr(10)) RLIKE 'b$' AS d, concat(s, chr(133)) RLIKE 'c$' AS e, concat('a', chr(10), chr(10)) RLIKE 'a$' AS f, concat('x', chr(id), 'y') RLIKE 'x[\\s]y' AS g, concat('x', chr(id), 'y') RLIKE 'x[^a]y' AS h, concat('x', chr(id), 'y') RLIKE 'x\\wy' AS i FROM texts;
SELECT id, regexp_replace(s, '[^0-9a-z]', '') AS a, regexp_replace(ds, '-', '/') AS b, regexp_replace(ds, '\\d+', '#') AS c, regexp_replace(s, '\\s+', '_') AS d, regexp_replace(s, '^a', 'X') AS e, regexp_replace(ds, '\\d{2}', 'dd') AS f, regexp_replace(ds, '-(\\d)', '.') AS g, regexp_replace(flag, 'R', '日本') AS h FROM texts;
SELECT id, regexp_extract(ds, '(\\d+)-(\\d+)', 1) AS a, regexp_extract(ds, '\\d+', 0) AS b, regexp_extract(s, 'a.*', 0) AS c, regexp_extract(s, '^([a-z]+)', 1) AS d, regexp_extract(ds, '(\\d*)-', 1) AS e, regexp_extract(ds, '\\d+?', 0) AS f, regexp_extract(flag, '([A-Z])', 1) AS g FROM texts;
SELECT id FROM texts WHERE s RLIKE '^[a-z]+$' OR regexp_replace(s, 'a', '') = '';
SELECT regexp_extract(ds, '^(\\d{4})', 1) AS k, count(*) FROM texts GROUP BY 1;
SELECT id, s RLIKE 'a' AS a FROM texts WHERE id < 0;
-- Case, alternatives, look-around, references, anchors, escapes and classes, on texts with line terminators and pairs of UTF-16 units.
SELECT id, x, x RLIKE '(?i)AB|é$' AS a, x RLIKE '^(?!a).*b' AS b, x RLIKE '(?<=a)b' AS c, x RLIKE '(?<!a)b' AS d, x RLIKE '(.)\\1' AS e, x RLIKE 'b$|^1' AS f, x RLIKE '\\s$' AS g, x RLIKE '[^\\x00-\\x7F]' AS h, x RLIKE '本' AS i, x RLIKE '^\\p{Alpha}+\\z' AS j, x RLIKE '^[^b]*\\Z' AS k, x RLIKE '\\r$' AS l, x RLIKE 'a(?=.?\\p{Punct})' AS m, x RLIKE '[\\u00e0-\\u00ff]' AS n FROM (SELECT id, CASE id % 26 WHEN 0 THEN 'ab' WHEN 1 THEN 'aB\n' WHEN 2 THEN 'xAb\r\n' WHEN 3 THEN '1\r' WHEN 4 THEN '' WHEN 5 THEN NULL WHEN 6 THEN 'é' WHEN 7 THEN 'É\u2028' WHEN 8 THEN '日本' WHEN 9 THEN '😀b' WHEN 10 THEN 'a😀' WHEN 11 THEN 'aa-bb' WHEN 12 THEN 'ba, b' WHEN 13 THEN 'b\u0085' WHEN 14 THEN '\n' WHEN 15 THEN '\r\n' WHEN 16 THEN 'a\r\nb' WHEN 17 THEN '001\n\n' WHEN 18 THEN 'ſK' WHEN 19 THEN 'a.b' WHEN 20 THEN 'b b\t' WHEN 21 THEN 'a\\b' WHEN 22 THEN 'x$1' WHEN 23 THEN '"a"' WHEN 24 THEN 'à' ELSE 'abcabc' END AS x FROM texts);
SELECT id, x, regexp_replace(x, '(\\w)(b)', '$2$1') AS a, regexp_replace(x, '^\\s+|\\s+$', '') AS b, regexp_replace(x, '(?i)a|B', '<$0>') AS c, regexp_replace(x, '(a)|(b)', '[$1]\\$$2') AS d, regexp_replace(x, '[\\r\\n\\t]+', ' ') AS e, regexp_replace(x, '(?<=a)[^-]', '#') AS f, regexp_replace(x, '(.)\\1', '$1$12') AS g, regexp_replace(x, '[^\\p{ASCII}]', '?') AS h, regexp_replace(x, '\\\\', '\\\\\\\\') AS i, regexp_replace(x, '0+$', '') AS j, regexp_replace(x, '.$', '!') AS k, regexp_replace(x, '(a)?b', '$1') AS l, regexp_replace(x, '.', '日😀') AS m, regexp_replace(x, '\n', '\\n') AS n FROM (SELECT id, CASE id % 26 WHEN 0 THEN 'ab' WHEN 1 THEN 'aB\n' WHEN 2 THEN 'xAb\r\n' WHEN 3 THEN '1\r' WHEN 4 THEN '' WHEN 5 THEN NULL WHEN 6 THEN 'é' WHEN 7 THEN 'É\u2028' WHEN 8 THEN '日本' WHEN 9 THEN '😀b' WHEN 10 THEN 'a😀' WHEN 11 THEN 'aa-bb' WHEN 12 THEN 'ba, b' WHEN 13 THEN 'b\u0085' WHEN 14 THEN '\n' WHEN 15 THEN '\r\n' WHEN 16 THEN 'a\r\nb' WHEN 17 THEN '001\n\n' WHEN 18 THEN 'ſK' WHEN 19 THEN 'a.b' WHEN 20 THEN 'b b\t' WHEN 21 THEN 'a\\b' WHEN 22 THEN 'x$1' WHEN 23 THEN '"a"' WHEN 24 THEN '100' ELSE 'abcabc' END AS x FROM texts);
SELECT id, x, regexp_extract(x, '^(.*?)-(.*)$', 2) AS a, regexp_extract(x, '([^a]+)$', 1) AS b, regexp_extract(x, '.$', 0) AS c, regexp_extract(x, '(?i)(A)(?:b|,)', 1) AS d, regexp_extract(x, '((a)|b)(b)?', 2) AS e, regexp_extract(x, '(^|,)\\s*(\\w+)', 2) AS f, regexp_extract(x, 'a(?:bc)*', 0) AS g, regexp_extract(x, '(a)(?=(?:b|a))', 1) AS h, regexp_extract(x, '\\D*', 0) AS i, regexp_instr(x, 'b|本') AS j, regexp_instr(x, '(?<=a)b') AS k, regexp_instr(x, '$') AS l, regexp_substr(x, '[ab]{2}|日') AS m FROM (SELECT id, CASE id % 26 WHEN 0 THEN 'ab' WHEN 1 THEN 'aB\n' WHEN 2 THEN 'xAb\r\n' WHEN 3 THEN '1\r' WHEN 4 THEN '' WHEN 5 THEN NULL WHEN 6 THEN 'é' WHEN 7 THEN 'É\u2028' WHEN 8 THEN '日本' WHEN 9 THEN '😀b' WHEN 10 THEN 'a😀' WHEN 11 THEN 'aa-bb' WHEN 12 THEN 'ba, b' WHEN 13 THEN 'b\u0085' WHEN 14 THEN '\n' WHEN 15 THEN '\r\n' WHEN 16 THEN 'a\r\nb' WHEN 17 THEN '001\n\n' WHEN 18 THEN 'ſK' WHEN 19 THEN 'a.b' WHEN 20 THEN '😀ab' WHEN 21 THEN 'a\\b' WHEN 22 THEN 'x$1' WHEN 23 THEN '"a"' WHEN 24 THEN 'à-' ELSE 'abcabc' END AS x FROM texts);
SELECT id, x, split(x, 'a|b') AS a, split(x, '\\s*,\\s*|-') AS b, split(x, 'b', 2) AS c, split(x, 'a', 0) AS d, split(x, 'B|(?<=a)b', -3) AS e, split(x, '^a') AS f, split(x, '[a\n]$', 5) AS g, split(x, '\\.', 1) AS h, regexp_extract_all(x, '(?i)[AB]+|1', 0) AS i, regexp_extract_all(x, '(a)|(b)', 2) AS j, regexp_extract_all(x, '^.|.$', 0) AS k, regexp_extract_all(x, '.(?=b)', 0) AS l, regexp_count(x, 'a|b') AS m, regexp_count(x, '^a|^.') AS n, regexp_count(x, '(?<!a)b') AS o, regexp_count(x, '.$') AS p FROM (SELECT id, CASE id % 26 WHEN 0 THEN 'ab' WHEN 1 THEN 'aB\n' WHEN 2 THEN 'xAb\r\n' WHEN 3 THEN '1\r' WHEN 4 THEN '' WHEN 5 THEN NULL WHEN 6 THEN 'é' WHEN 7 THEN 'É\u2028' WHEN 8 THEN '日本' WHEN 9 THEN '😀b' WHEN 10 THEN 'a😀' WHEN 11 THEN 'aa-bb' WHEN 12 THEN 'ba , b' WHEN 13 THEN 'b\u0085' WHEN 14 THEN '\n' WHEN 15 THEN '\r\n' WHEN 16 THEN 'a\r\nb' WHEN 17 THEN '001\n\n' WHEN 18 THEN 'ſK' WHEN 19 THEN 'a.b.c' WHEN 20 THEN 'a\n' WHEN 21 THEN 'a\\b' WHEN 22 THEN 'x$1' WHEN 23 THEN 'aaa' WHEN 24 THEN 'à-' ELSE 'abcabc' END AS x FROM texts);
SELECT id, s RLIKE '(?i)^[b-y]' AS a, regexp_replace(s, '([a-z])(.)', '$2$1') AS b, regexp_extract(s, '(?i)([A-C])(?!b)', 1) AS c, split(ds, '(?<=\\d)-(?=\\d)') AS d, regexp_replace(flag, '(?i)r|(a)', '<$1>') AS e, regexp_extract(ds, '(\\d+)-(\\d+)-(\\d+)$', 3) AS f FROM texts;
SELECT id, regexp_replace(CAST(unhex('61FF62') AS string), '.', 'x') AS a, s RLIKE '(((a{30}){30}){30})' AS b, regexp_replace(s, '(a)(b)?(c)?(d)?(e)?(f)?(g)?(h)?(i)?(j)?', '$10$9$8$7$6$5$4$3$2$1') AS c FROM texts;
SELECT regexp_replace(s, '^(.).*$', '$1') AS k, count(*) FROM texts GROUP BY 1;
SELECT id, x, x RLIKE '(?i)\\bfoo\\b' AS a, regexp_replace(x, '\\b(\\w+)\\b', '<$1>') AS b, regexp_extract(x, '\\b.\\b', 0) AS c, split(x, '\\b ') AS d, regexp_count(x, '\\b.') AS e, regexp_extract_all(x, '\\b[^ ]+', 0) AS f, regexp_instr(x, '\\bo') AS g, regexp_replace(x, 'o\\b$', '') AS h FROM (SELECT id, CASE id % 16 WHEN 0 THEN 'foo' WHEN 1 THEN 'Foo bar' WHEN 2 THEN 'foobar' WHEN 3 THEN 'é foo' WHEN 4 THEN 'fooé o' WHEN 5 THEN 'foo\u0301 x' WHEN 6 THEN ' \u0301o' WHEN 7 THEN '日 foo 😀o' WHEN 8 THEN NULL WHEN 9 THEN '' WHEN 10 THEN 'foo\n' WHEN 11 THEN 'é_ o\r\n' WHEN 12 THEN '𝒜 foo' WHEN 13 THEN '١foo' ELSE 'a-b c' END AS x FROM texts);
-- Possibly empty matches that are replaced, groups in repeated parts, and characters of two UTF-16 units stay in Spark.
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '\\Bab' AS a FROM texts WHERE id > 5;
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '[a&&[^b]]' AS a FROM texts WHERE id > 5;
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '(a*)*b' AS a FROM texts WHERE id > 5;
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '(?<!a).' AS a FROM texts WHERE id > 5;
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '[^😀]' AS a FROM texts WHERE id > 5;
-- expect: partly regexp_replace
SELECT id, regexp_replace(s, 'a*', '-') AS a FROM texts WHERE id > 5;
-- expect: partly regexp_replace
SELECT id, regexp_replace(s, '(a)', '$2') AS a FROM texts WHERE id < 0;
-- expect: partly regexp_replace
SELECT id, regexp_replace(s, '(a|b)+', '$1') AS a FROM texts WHERE id > 5;
-- expect: partly regexp_extract
SELECT id, regexp_extract(s, '(a|b)*', 1) AS a FROM texts WHERE id > 5;
-- expect: partly regexp_extract
SELECT id, regexp_extract(s, '(a|b)', 2) AS a FROM texts WHERE id < 0;
