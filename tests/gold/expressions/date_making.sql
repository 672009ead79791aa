-- Timestamps of a year, month, day, hour, minute and seconds.
-- tables: numbers, times
-- matrix: ansi=true,false ; tz=America/New_York,Asia/Kathmandu,Australia/Sydney

SELECT id, unix_micros(make_timestamp(1900 + abs(id % 140), 1 + id % 12, 1 + id % 28, id % 24, id % 60, id % 60)) AS a, make_timestamp_ltz(1582, 10, 1 + id % 28, 2, 30, 0.123456 * (id % 50)) AS b, make_timestamp_ntz(-5, 2, 1 + id % 28, 0, 0, 59.999999) < TIMESTAMP_NTZ'0001-01-01' AS c, unix_micros(make_timestamp(2020, 1 + id % 12, 1, 0, 0, 0, 'Europe/Paris')) AS d, make_timestamp_ltz(2020, 1 + id % 12, 1, 0, 0, 0, '+05:30') AS e FROM numbers;
-- Gaps and overlaps of the zones; 60 seconds are the next minute.
SELECT id, unix_micros(make_timestamp(2000 + id % 40, m, x, h, 30, IF(id % 3 = 0, 60, 1.5))) AS a FROM (SELECT id, 3 + 7 * CAST(id % 2 AS int) + CAST(id % 4 / 3 AS int) AS m, 1 + CAST(id % 14 AS int) AS x, CAST(id % 4 AS int) AS h FROM numbers);
SELECT id, unix_micros(try_make_timestamp(y, m, x, h, n, sec)) AS a, CAST(try_make_timestamp_ntz(y, m, x, h, n, sec) AS string) AS b, unix_micros(try_make_timestamp_ltz(y, m, x, h, n, sec)) AS c, unix_micros(try_make_timestamp(y, m, x, h, n, sec, 'America/Sao_Paulo')) AS d FROM (SELECT id, CASE id % 11 WHEN 0 THEN NULL WHEN 1 THEN 0 WHEN 2 THEN -44 WHEN 3 THEN 10000 WHEN 4 THEN 2147483647 WHEN 5 THEN -2147483648 WHEN 6 THEN 1000000000 ELSE 2000 + CAST(id % 30 AS int) END AS y, CAST(id % 15 AS int) AS m, CAST(id % 34 AS int) AS x, CAST(id % 26 AS int) - 1 AS h, CAST(id % 63 AS int) - 1 AS n, CASE id % 13 WHEN 0 THEN 60 WHEN 1 THEN 60.5 WHEN 2 THEN -1 WHEN 3 THEN 61 WHEN 4 THEN 4294967301.5 WHEN 5 THEN -0.5 WHEN 6 THEN NULL ELSE id % 60 + 0.000001 END AS sec FROM numbers);
-- expect[ansi=true,spark=4.1]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION
-- expect[ansi=true,spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
SELECT id, make_timestamp(2020, 2, 28 + CAST(id % 3 AS int), 0, 0, 0) AS a FROM numbers;
-- expect[ansi=true,spark=4.1]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION
-- expect[ansi=true,spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
SELECT id, make_timestamp_ntz(2020, 2, 1, CAST(id % 25 AS int), 0, 0) AS a FROM numbers;
-- expect[ansi=true]: error INVALID_FRACTION_OF_SECOND
SELECT id, make_timestamp(2020, 2, 1, 0, 0, 59.5 + id % 2) AS a FROM numbers;
-- expect: error
SELECT id, make_timestamp(300000 + id, 2, 1, 0, 0, 0) AS a FROM numbers;
SELECT id, make_timestamp(2020, 2, 1, 0, 0, 0, IF(id % 2 = 0, 'UTC', 'Europe/Paris')) AS a FROM numbers;
