-- Regular expressions that RE2 evaluates as Java does, on odd strings, line terminators and dictionary columns.
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
-- Flags, look-around, boundaries, references in replacements and possibly empty matches stay in Spark.
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '(?i)A' AS a FROM texts WHERE id > 5;
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '\\bab' AS a FROM texts WHERE id > 5;
-- expect: partly regexp_replace
SELECT id, regexp_replace(s, 'a*', '-') AS a FROM texts WHERE id > 5;
-- expect: partly regexp_replace
SELECT id, regexp_replace(s, '(a)', '$1$1') AS a FROM texts WHERE id > 5;
-- expect: partly regexp_extract
SELECT id, regexp_extract(s, '(a|b)*', 1) AS a FROM texts WHERE id > 5;
-- expect: partly (rlike|regexp)
SELECT id, s RLIKE '本' AS a FROM texts WHERE id > 5;
