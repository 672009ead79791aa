-- Search, replacement, padding and other functions of strings, by code points, on odd strings and dictionary columns.
-- tables: texts
-- matrix: ansi=true,false

SELECT id, instr(s, 'a') AS a, instr(s, '') AS b, instr(s, '本') AS c, instr(s, s2) AS d, instr(flag, 'R') AS e FROM texts;
SELECT id, locate('a', s) AS a, locate('', s) AS b, locate('a', s, 2) AS c, locate(s2, s, 1) AS d, locate('a', s, 0) AS e, locate('', s, 3) AS f, locate('a', s, -1) AS g, position('b' IN s) AS h FROM texts;
-- expect: any
SELECT id, locate('a', s, pos) AS a, locate('a', s, NULL) AS b FROM texts;
SELECT id, substring_index(s, 'a', 1) AS a, substring_index(s, 'a', -1) AS b, substring_index(s, 'a', 2) AS c, substring_index(s, 'a', -2) AS d, substring_index(s, '', 1) AS e, substring_index(s, 'b', 0) AS f, substring_index(s, ' ', 1) AS g, substring_index(flag, 'R', -1) AS h FROM texts;
SELECT id, substring_index(repeat(s, 5), 'aa', 2) AS a, substring_index(repeat('a', 5) || s, 'aa', -3) AS b, substring_index(repeat('a', 5) || s, 'aa', 3) AS c, substring_index(repeat('ab', 3) || s, 'ab', -2) AS d FROM texts;
SELECT id, replace(s, 'a', 'xyz') AS a, replace(s, 'a') AS b, replace(s, '', 'x') AS c, replace(s, 'ab', '') AS d, replace(s, s2, '-') AS e, replace(s, '本', '木') AS f, replace(flag, 'R', NULL) AS g FROM texts;
SELECT id, translate(s, 'abc', 'xy') AS a, translate(s, 'aab', 'xyz') AS b, translate(s, '', 'x') AS c, translate(s, '日本😀', 'x日') AS d, translate(s, 'abc é', '日😀é') AS e, translate(s, 'é本b', '') AS f FROM texts;
SELECT id, find_in_set(s, 'a,b,abc,,日本') AS a, find_in_set(s, s2) AS b, find_in_set(flag, 'A,R') AS c FROM texts;
SELECT id, contains(s, s2) AS a, startswith(s, s2) AS b, endswith(s, s2) AS c, contains(s, flag) AS d FROM texts;
SELECT id, lpad(s, 5, 'xy') AS a, rpad(s, 5, 'xy') AS b, lpad(s, 0, 'x') AS c, rpad(s, -1, 'x') AS d, lpad(s, 3, '') AS e, rpad(s, 7) AS f, lpad(s, 12, '日本') AS g, lpad(flag, 2, '-') AS h FROM texts;
SELECT id, repeat(s, 3) AS a, repeat(s, 0) AS b, repeat(flag, -1) AS c, reverse(s) AS d, space(3) || s AS e, reverse(flag) AS f FROM texts;
SELECT id, concat_ws('-', s, s2, flag) AS a, concat_ws(s, flag, s2) AS b, concat_ws(',', flag) AS c, concat_ws(NULL, s, s2) AS d, concat_ws('', s, CAST(NULL AS STRING), s2) AS e FROM texts;
SELECT id, ascii(s) AS a, ascii(flag) AS b, chr(id) AS c, chr(id - 100) AS d, chr(id * 7) AS e FROM texts;
SELECT id, initcap(s) AS a, initcap(flag) AS b, initcap('ǆ ß ŉ ' || s || ' ïé') AS c FROM texts;
SELECT id, substring(s, pos, len) AS a, left(s, len) AS b, right(s, len) AS c, substring(s, pos) AS d FROM texts;
SELECT id, substring(bin, 1, 2) AS a, substring(bin, -2) AS b, substring(bin, 0, 1) AS c, substring(bin, -100, 101) AS d, substring(bin, 2, -1) AS e, left(bin, 1) AS f FROM texts;
SELECT id, octet_length(s) AS a, bit_length(s) AS b, octet_length(bin) AS c, bit_length(bin) AS d, char_length(s) AS e FROM texts;
SELECT id, btrim(s) AS a, btrim(s, 'a ') AS b, left(s, 2) AS c, right(s, 2) AS d, char(id) AS e FROM texts;
SELECT instr(s, 'a') AS k, count(*) FROM texts GROUP BY 1;
SELECT id FROM texts WHERE replace(s, 'a', '') = '' OR lpad(flag, 3, '*') = '**R';
-- Arrays among the strings: their elements that are not NULL.
SELECT id, concat_ws(',', split(s, 'a')) AS a, concat_ws('-', s, array(s2, NULL, s), flag) AS b, concat_ws(s, array(flag, s2)) AS c, concat_ws('☃', IF(id % 3 = 0, NULL, array(s, '')), IF(id % 2 = 0, NULL, 'x')) AS d FROM texts;
SELECT id, concat_ws(',', array(NULL)) AS a, concat_ws(',', array()) AS b, concat_ws(',', CAST(NULL AS array<string>), s) AS c, concat_ws(NULL, array(s)) AS d, concat_ws(',', array(id, id + 1), array(''), array('', '')) AS e, concat_ws(',', filter(array(s, s2), x -> x > 'a')) AS f, transform(array(s, s2), x -> concat_ws('/', array(x, 'é'))) AS g FROM texts;
SELECT concat_ws(',', array(s, s2)) AS a FROM texts WHERE id < 0;
SELECT id, instr(s, 'a') AS a, lpad(s, 3, 'x') AS b, repeat(s, 2) AS c, concat_ws(',', s, s2) AS d FROM texts WHERE id < 0;
-- Long results.
SELECT id, length(lpad(s, 5000, 'x')) AS a FROM texts WHERE id > 5;
SELECT id, repeat(s, len % 3) AS a FROM texts WHERE id > 5;
