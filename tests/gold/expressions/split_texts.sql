-- Parts of split texts, numbers of matches, errors that users raise, errors as NULL.
-- tables: texts, times, numbers
-- matrix: ansi=true,false

SELECT id, split_part(s, 'a', 1) AS a, split_part(s, ' ', -1) AS b, split_part(s, '', 1) AS c, split_part(s, 'é', 2) AS d, split_part(s, s2, 1) AS e, split_part(concat(s, '||', s2), '||', 2) AS f, split_part(s, substring(s2, 1, 1), IF(id % 3 = 0, -2, 2)) AS g, split_part(s, 'a', IF(id % 4 = 0, NULL, 2147483647)) AS h, split_part('11.12.13', '.', 3) AS i, split_part(s, IF(id % 5 = 0, NULL, '.'), 1) AS j FROM texts;
-- expect: error INVALID_INDEX_OF_ZERO
SELECT id, split_part(s, 'a', CAST(id % 7 AS int)) AS a FROM texts WHERE s IS NOT NULL;
SELECT id, split_part(s, 'a', 0) AS a FROM texts WHERE s IS NULL;
SELECT id, regexp_count(s, 'a') AS a, regexp_count(s, '[a-c]+') AS b, regexp_count(concat(s, 'Steven Stephen'), 'Ste(v|ph)en') AS c, regexp_count(s, '.') AS d, regexp_count(s, '\\w\\s?') AS e, regexp_count(s, 'a{2}') AS f, regexp_count(s, '\\d(a|b|)') AS g FROM texts;
-- Patterns that match the empty text stay in Spark.
-- expect: partly regexp_count
SELECT id, regexp_count(s, 'a*') AS a FROM texts;
SELECT id, assert_true(id >= 0) AS a, assert_true(id >= 0, s) AS b, IF(id < 0, raise_error(s), s) AS c FROM texts;
-- expect: error USER_RAISED_EXCEPTION
SELECT id, assert_true(id <> 50) AS a FROM texts;
-- errors: exact
-- expect: error USER_RAISED_EXCEPTION
SELECT id, assert_true(id <> 50, concat('row ', id, ': é')) AS a FROM texts;
-- expect: error USER_RAISED_EXCEPTION
SELECT id, assert_true(id <> 50, CAST(NULL AS string)) AS a FROM texts;
-- expect: error USER_RAISED_EXCEPTION
SELECT id FROM texts WHERE CASE WHEN id = 7 THEN raise_error('seven') ELSE true END;
SELECT id, unix_date(try_add(DATE'2020-01-01', huge)) AS a, unix_micros(try_add(ts, INTERVAL '1' DAY)) AS b, unix_date(try_add(d, INTERVAL '1' MONTH * huge)) AS c, unix_micros(try_subtract(TIMESTAMP'2020-01-01 00:00:00', INTERVAL '100' DAY * huge)) AS e FROM times;
SELECT id, round(l, -1) AS a, bround(l, -2) AS b, round(i, -3) AS c, bround(s, -1) AS d, bround(i, -9) AS e, round(t, -400) AS f FROM numbers WHERE l BETWEEN -1000000000000 AND 1000000000000 AND i BETWEEN -1000000000 AND 1000000000 AND s BETWEEN -10000 AND 10000;
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, round(l, -1) AS a, bround(l, -19) AS b, round(l, -18) AS c, round(i, -9) AS d, round(i, -1) AS e, round(s, -4) AS f, round(t, -2) AS g, bround(t, -1) AS h FROM numbers;
SELECT id, sign(INTERVAL '1' SECOND * t) AS a, signum(INTERVAL '1' MONTH * t) AS b, TIMESTAMP'2020-01-01 00:00:00' + abs(INTERVAL '1' SECOND * t) AS c, DATE'2020-01-01' + abs(INTERVAL '1' MONTH * t) AS d FROM numbers;
-- expect: error ARITHMETIC_OVERFLOW
SELECT id, TIMESTAMP'2020-01-01 00:00:00' + abs(INTERVAL '0.000001' SECOND * IF(id = 7, -9223372036854775808L, 1L)) AS a FROM numbers;

-- All matches, or a group of each.
SELECT id, regexp_extract_all(ds, '(\\d+)-(\\d+)', 1) AS a, regexp_extract_all(ds, '\\d\\d', 0) AS b, regexp_extract_all(s, '[a-c]+', 0) AS c, regexp_extract_all(concat(s, '-', s2, '-', id), '(\\w+)-') AS d, regexp_extract_all(concat(s, chr(1), s), '.', 0) AS e, regexp_extract_all(repeat(s, 3), '^a', 0) AS f, regexp_extract_all('100-200, 300-400', '(\\d+)-(\\d+)', 2) AS g, regexp_extract_all(s, '\\w(\\d*)', 1) AS h, regexp_extract_all(s, '[a-c](b|c|)', 0) AS k FROM texts;
SELECT id, regexp_extract_all(concat(s, chr(id % 32), chr((id + 1) % 32), s2), '.(.)', 1) AS a, regexp_extract_all(concat('a', chr(13), chr(10), 'a', chr(133), s), 'a.?', 0) AS b, regexp_extract_all(CAST(NULL AS STRING), 'a', 0) AS c, regexp_extract_all(flag, '[RA]', 0) AS d FROM texts;
-- expect: partly regexp_extract_all
SELECT id, regexp_extract_all(s, 'a*', 0) AS a FROM texts;
-- expect: partly regexp_extract_all
SELECT id, regexp_extract_all(s, '\\Bé', 0) AS a FROM texts;
-- The error of a part 0 does not name its place in the query.
-- expect: error INVALID_INDEX_OF_ZERO
-- errors: exact
SELECT split_part(string(id), '1', CAST(id AS int) - 1) AS a FROM range(1, 2);
