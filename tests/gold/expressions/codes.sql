-- Codes and positions: base64, digits of other bases, bits and bitmaps, check digits, elt, timestamps of numbers.
-- tables: texts, numbers, tame
-- matrix: ansi=true,false

SELECT id, unbase64(base64(bin)) AS a, unbase64(base64(encode(s, 'utf-8'))) AS b, unbase64(x) AS c FROM (SELECT *, CASE id % 12 WHEN 0 THEN '' WHEN 1 THEN 'QQ==' WHEN 2 THEN 'QUI=' WHEN 3 THEN 'QUJD' WHEN 4 THEN ' Q\r\nU é J😀D ' WHEN 5 THEN 'QUJDRA' WHEN 6 THEN 'QUJDRA==-é=' WHEN 7 THEN '-_.!' WHEN 8 THEN '+/+/////' WHEN 9 THEN 'QUJDREU' WHEN 10 THEN NULL ELSE repeat('QUJD\r\n', 9) END AS x FROM texts);
-- expect: error
SELECT id, unbase64(CASE WHEN id = 33 THEN 'QUJDR' ELSE 'QQ==' END) AS a FROM texts;
-- expect: error
SELECT id, unbase64(CASE WHEN id = 33 THEN 'QQ=' ELSE 'QQ==' END) AS a FROM texts;
-- expect: error
SELECT id, unbase64(CASE WHEN id = 33 THEN '=' ELSE 'QQ==' END) AS a FROM texts;
-- expect: error
SELECT id, unbase64(CASE WHEN id = 33 THEN 'QQ==éA' ELSE 'QQ==' END) AS a FROM texts;
SELECT id, CASE WHEN id % 2 = 0 THEN unbase64(CASE WHEN id % 2 = 0 THEN 'QQ' ELSE '=' END) END AS a FROM texts;
SELECT id, conv(s, 2 + abs(id) % 35, IF(id % 2 = 0, 10, -16)) AS a, conv(x, 16, 1 + id % 37) AS b FROM (SELECT id, s, CASE id % 4 WHEN 0 THEN '-7f' WHEN 1 THEN '12345' WHEN 2 THEN 'zz' ELSE '' END AS x FROM texts);
SELECT id, conv(s, 10, 16) AS a, conv(x, 10, 2) AS b, conv(x, 16, 10) AS c, conv(x, 16, -10) AS e, conv(x, 36, 36) AS g, conv(x, 2, -36) AS h, conv(x, 1, 10) AS i, conv(x, 10, 37) AS j, conv(x, 10, CAST(NULL AS INT)) AS k FROM (SELECT *, CASE id % 14 WHEN 0 THEN '' WHEN 1 THEN '-' WHEN 2 THEN ' 17 ' WHEN 3 THEN '-15' WHEN 4 THEN 'ff' WHEN 5 THEN '-Zz' WHEN 6 THEN '101x1' WHEN 7 THEN 'é1' WHEN 8 THEN '--1' WHEN 9 THEN '00' WHEN 10 THEN '1é' WHEN 11 THEN NULL WHEN 12 THEN '\t1' ELSE '7' END AS x FROM texts) WHERE length(s) < 9;
SELECT id, conv(x, 10, 16) AS a, conv(x, 10, -10) AS b, conv(x, 10, 10) AS c FROM (SELECT id, CASE id % 5 WHEN 0 THEN '18446744073709551615' WHEN 1 THEN '-18446744073709551615' WHEN 2 THEN '9223372036854775808' WHEN 3 THEN '-9223372036854775808' ELSE '-9223372036854775807' END AS x FROM texts);
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, conv(CASE id % 4 WHEN 1 THEN '18446744073709551616' WHEN 2 THEN '-99999999999999999999' ELSE '5' END, 10, 16) AS a, conv(CASE id % 3 WHEN 1 THEN 'fffffffffffffffff' ELSE '5' END, 16, -10) AS b FROM texts;
SELECT id, bit_get(l, id % 64) AS a, bit_get(i, id % 32) AS b, bit_get(s, id % 16) AS c, bit_get(t, id % 8) AS e, bit_get(l, nothing) AS g, getbit(l, 5) AS h FROM numbers;
-- expect: error INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE
SELECT id, bit_get(i, id) AS a FROM numbers;
-- expect: error INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE
SELECT id, bit_get(t, -1) AS a FROM numbers;
SELECT id, bitmap_bucket_number(l) AS a, bitmap_bit_position(l) AS b, bitmap_bucket_number(id * 1000 - 100000) AS c, bitmap_bit_position(id * 1000 - 100000) AS e FROM numbers;
SELECT id, bitmap_count(bin) AS a, bitmap_count(encode(s, 'utf-8')) AS b FROM texts;
SELECT id, luhn_check(x) AS a, luhn_check(s) AS b, luhn_check('79927398713') AS c FROM (SELECT *, CASE id % 9 WHEN 0 THEN '8112189876' WHEN 1 THEN '79927398713' WHEN 2 THEN '79927398714' WHEN 3 THEN '' WHEN 4 THEN '0' WHEN 5 THEN '٧٩٩٢٧٣٩٨٧١٣' WHEN 6 THEN '𝟎' WHEN 7 THEN '1 8' ELSE CAST(id AS STRING) END AS x FROM texts);
SELECT id, contains(bin, X'00') AS a, startswith(bin, bin) AS b, endswith(bin, encode('c', 'utf-8')) AS c, contains(encode(s, 'utf-8'), encode(s2, 'utf-8')) AS e, startswith(bin, X'') AS g FROM texts;
SELECT id, regexp_instr(s, '[a-c]') AS a, regexp_instr(s, 'b+$') AS b, regexp_instr(concat('é😀', s), '\\w\\d?') AS c, regexp_instr(s, '\\d*') AS e, regexp_instr(s, '(a|bc)') AS g FROM texts;
SELECT id, elt(id % 4, s, s2, 'x') AS a FROM texts WHERE id % 4 <> 0;
SELECT id, elt(pos, s, s2) AS a, elt(1 + id % 2, bin, encode(s, 'utf-8')) AS b, elt(2, s, s2) AS c FROM texts WHERE pos BETWEEN 1 AND 2 OR pos IS NULL;
-- expect[ansi=true]: error INVALID_ARRAY_INDEX
SELECT id, elt(pos, s, s2) AS a FROM texts;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, elt(1 + id % 2, s, CAST(10 / (id % 7) AS STRING)) AS a FROM texts;
SELECT id, quote(s) AS a, quote(concat('it''s \\', s2, '"')) AS b FROM texts;
SELECT id, typeof(s) AS a, typeof(bin) AS b, typeof(id + 1) AS c, typeof(NULL) AS e FROM texts;
SELECT id, timestamp_seconds(l % 100000000000) AS a, timestamp_millis(l % 10000000000000) AS b, timestamp_seconds(d) AS c FROM numbers WHERE abs(d) < 1e10 OR isnan(d) OR d IS NULL OR abs(d) = double('Infinity');
SELECT id, cast(timestamp_seconds(d) AS BIGINT) AS a, unix_micros(timestamp_seconds(d)) AS b, unix_micros(timestamp_seconds(f)) AS c, unix_micros(timestamp_seconds(id / 7.0D)) AS e, unix_micros(timestamp_seconds(-id / 7.0D)) AS g FROM numbers;
-- expect: error
-- expect[spark=4.3]: error DATETIME_OVERFLOW
SELECT id, timestamp_seconds(l) AS a FROM numbers;
-- expect: error
-- expect[spark=4.3]: error DATETIME_OVERFLOW
SELECT id, timestamp_millis(l) AS a FROM numbers;
SELECT id, unix_micros(timestamp_seconds(n9)) AS a, timestamp_seconds(n18 % 1000000000) AS b, unix_micros(timestamp_seconds(CAST(n9 AS DECIMAL(18, 6)))) AS c, unix_micros(timestamp_seconds(CAST(n9 AS DECIMAL(38, 6)))) AS e FROM numbers;
-- expect: error
-- expect[spark=4.3]: error DATETIME_OVERFLOW
SELECT id, unix_micros(timestamp_seconds(n380)) AS a FROM numbers;
-- expect: error
SELECT id, unix_micros(timestamp_seconds(n38)) AS a FROM numbers;
-- expect: error
SELECT id, unix_micros(timestamp_seconds(n38)) AS a FROM numbers WHERE n38 BETWEEN 0 AND 1;
SELECT id, unbase64(s) AS a, conv(s, 10, 2) AS b, luhn_check(s) AS c, regexp_instr(s, 'a') AS e, bitmap_count(bin) AS g, elt(1, s, s2) AS h FROM texts WHERE id < 0;
-- set: spark.sql.legacy.codingErrorAction=true
SELECT id, decode(bin, 'utf-8') AS a, decode(unbase64(CASE id % 5 WHEN 0 THEN '7aCAQQ==' WHEN 1 THEN '7aA=' WHEN 2 THEN 'Qe2/7b+/7YA=' WHEN 3 THEN '8J+Y' ELSE 'QcP/' END), 'utf-8') AS b FROM texts;
