-- LIKE with simple patterns and SUBSTRING, by code points, on odd strings and dictionary columns.
-- tables: texts
-- matrix: ansi=true

SELECT id FROM texts WHERE s LIKE 'a%';
SELECT id FROM texts WHERE s LIKE '%c';
SELECT id FROM texts WHERE s LIKE '%b%';
SELECT id FROM texts WHERE s LIKE 'abc';
SELECT id FROM texts WHERE s LIKE 'a%c';
SELECT id FROM texts WHERE s LIKE '%';
SELECT id FROM texts WHERE s LIKE '';
SELECT id FROM texts WHERE s NOT LIKE 'a%';
SELECT id, s LIKE '%本%' AS x, s LIKE '😀%' AS y, s LIKE '%\u0301' AS z FROM texts;
SELECT id, flag LIKE 'R%' AS x, flag LIKE '%N' AS y FROM texts;
-- expect: any
SELECT id FROM texts WHERE s LIKE 'a_c';
-- expect: any
SELECT id FROM texts WHERE s LIKE '_';
-- expect: any
SELECT id FROM texts WHERE s LIKE 'a\\%c' OR s LIKE '\\_';
-- expect: any
SELECT id FROM texts WHERE s LIKE '%a%c%';
-- expect: any
SELECT id FROM texts WHERE s LIKE 'a%' ESCAPE '!' OR s LIKE 'a!%c' ESCAPE '!';
-- expect: any
SELECT id FROM texts WHERE s LIKE flag;
SELECT id, substring(s, 1, 1) AS x, substring(s, 2) AS y, substring(s, 2, 3) AS z FROM texts;
SELECT id, substring(s, 0, 2) AS x, substring(s, -1) AS y, substring(s, -2, 1) AS z, substring(s, -100, 99) AS w FROM texts;
SELECT id, substring(s, 1, 0) AS x, substring(s, 1, -1) AS y, substring(s, 100, 5) AS z, substring(s, 2147483647) AS w FROM texts;
SELECT id, substring(s, -2147483648, 5) AS x, substring(s, 1, 2147483647) AS y, substring(s, -3, 2147483647) AS z FROM texts;
SELECT id, substr(flag, 1, 1) AS x FROM texts;
SELECT substring(s, 1, 1) AS k, count(*) FROM texts GROUP BY 1;
-- expect: any
SELECT id, substring(s, pos, len) AS x FROM texts;
-- expect: any
SELECT id, left(s, 2) AS x, right(s, 2) AS y FROM texts;
-- expect: any
SELECT id, substring(bin, 1, 2) AS x FROM texts;
SELECT id FROM texts WHERE startswith(s, 'a') OR endswith(s, ' ') OR contains(s, '日');
-- What is not in the manifest declines with its name.
-- expect: partly (?i)sentences
SELECT size(sentences(s)) AS x, id FROM texts WHERE id > 5;
-- expect: some
SELECT id, s COLLATE UTF8_LCASE = 'a' AS x FROM texts WHERE id > 5;
SELECT id, s LIKE ALL ('%a_', '_b%', '%') AS a, s NOT LIKE ALL ('%a_', '_b%c%d') AS b, s LIKE ANY ('%a_', '_b%', '\\%') AS c, s NOT LIKE ANY ('%a_', '_b%') AS e, s ILIKE ANY ('%A_', '_B%') AS f, s LIKE ALL ('%a_', NULL) AS g, s NOT LIKE ANY ('_', NULL) AS h FROM texts;
SELECT id, s FROM texts WHERE s LIKE ANY ('_', 'a_c', '%😀%_');
SELECT CAST(s AS STRING COLLATE UTF8_BINARY) AS a, count(*) AS b, collect_set(CAST(s AS STRING COLLATE UTF8_BINARY)) AS c FROM texts GROUP BY 1;
