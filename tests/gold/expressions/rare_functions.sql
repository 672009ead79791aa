-- Rare functions of strings and numbers: encodings, distances, overlay, digits with commas, buckets, dates from parts.
-- tables: texts, numbers, times
-- matrix: ansi=true,false ; tz=America/New_York,Asia/Kathmandu

SELECT id, encode(s, 'UTF-8') AS a, decode(encode(s, 'utf-8'), 'UTF-8') AS b, encode(NULL, 'utf-8') AS c FROM texts;
SELECT id, decode(CAST(flag AS binary), 'utf-8') AS a FROM texts;
-- expect: error MALFORMED_CHARACTER_CODING
SELECT id, decode(bin, 'utf-8') AS a FROM texts;
SELECT id, url_encode(s) AS a, url_encode(concat(s, ' ~*-._+%&/ä😀')) AS b FROM texts;
SELECT id, soundex(s) AS a, soundex(x) AS b FROM (SELECT id, s, CASE id % 16 WHEN 0 THEN 'Miller' WHEN 1 THEN 'Ashcraft' WHEN 2 THEN 'Tymczak' WHEN 3 THEN 'Pfister' WHEN 4 THEN 'a' WHEN 5 THEN '1a' WHEN 6 THEN 'bb-bb' WHEN 7 THEN 'Hhh' WHEN 8 THEN 'bhb' WHEN 9 THEN 'BéB' WHEN 10 THEN 'éa' WHEN 11 THEN 'Zzzzzz' WHEN 12 THEN '' WHEN 13 THEN 'rstuvwxyz' WHEN 14 THEN 'x b c d l m r' ELSE NULL END AS x FROM texts);
SELECT id, levenshtein(s, s2) AS a, levenshtein(s, 'kitten') AS b, levenshtein('', s) AS c, levenshtein(s, s2, 2) AS d, levenshtein(s, s2, 0) AS e FROM texts;
SELECT id, overlay(s PLACING 'xyz' FROM 2) AS a, overlay(s PLACING s2 FROM 3 FOR 1) AS b, overlay(s, 'é😀', -2, 0) AS c, overlay(s, '', 1, 2) AS d, overlay(s, s2, -3, 9) AS e, overlay(s, 'q', 0, 1) AS f, overlay(s, s2, 99999999, 99999999) AS g FROM texts;
-- The minors treat overflows of positions differently.
SELECT id, overlay(s, 'q', pos, len) AS a, overlay(s, s2, pos, 2147483647 - id) AS b, overlay(s PLACING s2 FROM pos) AS c, overlay(bin, CAST(s AS binary), pos, len) AS d, overlay(bin PLACING X'00FF' FROM pos) AS e FROM texts;
SELECT id, format_number(n18, '##################.###') AS a, format_number(n18, '#,##0.00') AS b, format_number(n38, '#.0#') AS c, format_number(l, '#,###') AS d, format_number(i, '0000') AS e, format_number(t, '#.#') AS f, format_number(n9, '0,00.0') AS g, format_number(n18, '###') AS h, format_number(n380, '#,##,##') AS i FROM numbers;
SELECT id, format_number(CAST(id - 40 AS DECIMAL(9, 3)) / 8, '0.##') AS a, format_number(CAST(id - 40 AS DECIMAL(9, 3)) / 8, '#.00') AS b, format_number(CAST(id - 40 AS DECIMAL(9, 3)) / 80, '0') AS c, format_number(CAST(id - 40 AS DECIMAL(9, 3)) / 80, '#') AS d, format_number(CAST(NULL AS DECIMAL(9, 3)), '#') AS e, format_number(id * 1000003, '000,000,000') AS f FROM numbers;
-- Percentages, texts before and after the digits, and the empty pattern.
SELECT id, format_number(n18, '0.0%') AS a, format_number(n18, 'x0') AS b, format_number(l, '$#,##0.00') AS c, format_number(n38, '% #.## é') AS e, format_number(t, '(0)') AS f, format_number(i, '') AS g, format_number(n9, '+#,###.0 a\u2030b') AS h FROM numbers;
SELECT id, d, format_number(d, '0.0%') AS a, format_number(d, '€ #,##0.00') AS b, format_number(f, '#.#x') AS c, format_number(d, '') AS e, format_number(f, '0.00\u2030') AS g, format_number(d, '%#,###') AS h FROM numbers;
SELECT id, d, format_number(d, 0) AS a, format_number(d, 2) AS b, format_number(f, 3) AS c, format_number(l, 2) AS e, format_number(n18, 1) AS g, format_number(n38, 4) AS h, format_number(CAST(id - 40 AS DOUBLE) / 8, 2) AS i, format_number(CAST(id - 40 AS DECIMAL(9, 3)) / 8, 2) AS j, format_number(-d / 1e9D, 2) AS k, format_number(d, 30) AS m FROM numbers;
-- expect: partly format_number
SELECT id, format_number(d, '0.0E0') AS a FROM numbers WHERE id < 5;
-- expect: partly format_number
SELECT id, format_number(n18, "'#'0") AS a, format_number(n18, '0;(0)') AS b, format_number(n18, '-0') AS c FROM numbers WHERE id < 5;
-- Doubles.
SELECT id, d, format_number(d, 2) AS a, format_number(d, 0) AS b, format_number(f, 3) AS c, format_number(f, 0) AS e, format_number(d, CAST(abs(id) % 20 AS int) - 1) AS g, format_number(d, '#,##0.0#') AS h, format_number(d, '#.##') AS i, format_number(d, '0000') AS j, format_number(f, '0.###') AS k FROM numbers;
-- Doubles in the middle between two texts, nearly so, large, small, and not finite.
SELECT id, x, format_number(x, 3) AS k, format_number(x, 2) AS a, format_number(-x, 1) AS b, format_number(x / 1000, 3) AS c, format_number(float(x), 2) AS e, format_number(x, '0.#') AS g, format_number(x / 100, '$0.##%') AS l, format_number(float(x), '0\u2030!') AS m, format_number(x * 1e20, 0) AS h, format_number(x, 20) AS i, format_number(x * 1e-300, 3) AS j FROM (SELECT id, CASE id % 24 WHEN 0 THEN 0.125D WHEN 1 THEN 0.135D WHEN 2 THEN 1.005D WHEN 3 THEN 2.5D WHEN 4 THEN 3.5D WHEN 5 THEN 0.05D WHEN 6 THEN 0.15D WHEN 7 THEN 0.25D WHEN 8 THEN 0.35D WHEN 9 THEN -0.0D WHEN 10 THEN double('NaN') WHEN 11 THEN double('Infinity') WHEN 12 THEN 1234567.895D WHEN 13 THEN 9.995D WHEN 14 THEN 999999.999D WHEN 15 THEN 1.7976931348623157E308D WHEN 16 THEN 4.9E-324D WHEN 17 THEN 2.0E-3D WHEN 18 THEN 1.0E23D WHEN 19 THEN 2.2E-322D WHEN 20 THEN 0.004999999999999999D WHEN 21 THEN 0.015D WHEN 22 THEN -0.004D WHEN 23 THEN 5.0E-4D ELSE id / 8D + 0.0625D END AS x FROM numbers);
SELECT id, format_number(t, 0) AS a, format_number(l, 2) AS b, format_number(i, 1) AS c, format_number(n18, 0) AS d, format_number(n18, 2) AS e, format_number(n38, 4) AS f, format_number(n380, 12) AS g, format_number(n9, -1) AS h, format_number(n9, 1) AS k FROM numbers;
SELECT id, width_bucket(d, 0D, 10D, 5) AS a, width_bucket(d, 10D, -10D, l) AS b, width_bucket(d2, d, 100D, 7) AS c, width_bucket(i, -100, 100, 10) AS e FROM numbers;
SELECT id, make_date(2000 + abs(id % 50), 1 + id % 12, 1 + id % 28) AS a FROM numbers;
SELECT id, make_date(CASE WHEN id % 3 = 0 THEN NULL ELSE 1582 END, 10, 10) AS a, make_date(-5, 2, 1 + id % 28) < DATE'0001-01-01' AS b FROM numbers;
-- expect[ansi=true,spark=4.1]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION
-- expect[ansi=true,spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
SELECT id, make_date(2019 + id % 3, 2, 28 + id % 4) AS a FROM numbers;
-- expect[ansi=true,spark=4.1]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION
-- expect[ansi=true,spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
SELECT id, make_date(CASE WHEN i < 6000 AND i > -6000 THEN i ELSE 2147483647 END, t, s) IS NULL AS a FROM numbers;
SELECT id, convert_timezone('Asia/Tokyo', 'America/New_York', ntz) AS a, convert_timezone('Europe/Paris', ntz) AS b FROM times WHERE ntz BETWEEN TIMESTAMP_NTZ'0002-01-01 00:00:00' AND TIMESTAMP_NTZ'9990-01-01 00:00:00';
SELECT id, s LIKE '%#%%' ESCAPE '#' AS a, s LIKE 'a/_%' ESCAPE '/' AS b, s LIKE '!%!!%' ESCAPE '!' AS c, s LIKE '^_%' ESCAPE '^' AS d FROM (SELECT id, CASE id % 7 WHEN 0 THEN 'a_b' WHEN 1 THEN 'ab' WHEN 2 THEN '50%' WHEN 3 THEN '%!x' WHEN 4 THEN '_' WHEN 5 THEN '%' ELSE s END AS s FROM texts);
SELECT id, regexp_replace(x, '(\\d+)', 'n') AS a, regexp_replace(x, '([a-z]+)-', '') AS b, regexp_extract(x, '(\\d+)-(\\d+)', 2) AS c, regexp_extract(x, '([a-z]*)(\\d*)-(\\d+)', 3) AS d, regexp_extract(x, '(\\d+)-(\\d+)', 0) AS e, regexp_extract(x, '^(.*?)-', 1) AS f FROM (SELECT id, CASE id % 8 WHEN 0 THEN '100-200' WHEN 1 THEN 'ab12-34-56' WHEN 2 THEN '-' WHEN 3 THEN '' WHEN 4 THEN 'é-7' WHEN 5 THEN 'x-\n-9' ELSE s END AS x FROM texts);
-- expect: error INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX
SELECT id, regexp_extract(concat(s, '(x'), '[(]x', 1) AS a FROM texts;
SELECT id, version() AS a FROM numbers;
-- set: spark.sql.optimizer.excludedRules=org.apache.spark.sql.catalyst.optimizer.ConstantFolding,org.apache.spark.sql.catalyst.optimizer.FoldablePropagation
SELECT id, version() AS a, upper(concat(version(), s)) AS b FROM texts WHERE version() > '3';
