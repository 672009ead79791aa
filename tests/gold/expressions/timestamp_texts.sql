-- CAST of strings to timestamps: every form of date, time, fraction and time zone, invalid ones, ends of the range.
-- tables: timestamp_texts
-- matrix: ansi=true,false ; tz=Asia/Kathmandu,America/Sao_Paulo,America/New_York,UTC

SELECT id, unix_micros(try_cast(x AS timestamp)) AS a, datediff(try_cast(x AS timestamp_ntz), DATE'1970-01-01') AS b, hour(try_cast(x AS timestamp_ntz)) AS h, second(try_cast(x AS timestamp_ntz)) AS s FROM timestamp_texts;
SELECT id, CAST(good AS timestamp) AS a, CAST(good AS timestamp_ntz) AS b, to_timestamp(good) AS c, to_timestamp_ntz(good) AS d FROM timestamp_texts;
SELECT id, hour(good) AS h, minute(good) AS m, date_trunc('HOUR', good) AS t, unix_seconds(CAST(good AS timestamp)) AS u, from_utc_timestamp(good, 'Asia/Tokyo') AS f, months_between(good, '2019-05-31') AS n FROM timestamp_texts;
SELECT id, good < TIMESTAMP'2020-01-01 00:00:00' AS a, date_format(good, 'yyyy-MM-dd HH:mm:ss') AS b FROM timestamp_texts WHERE good IS NOT NULL;
SELECT CAST(good AS timestamp) AS k, count(*) AS n FROM timestamp_texts GROUP BY 1;
-- expect[ansi=true]: error CAST_INVALID_INPUT
SELECT id, unix_micros(CAST(x AS timestamp)) AS a FROM timestamp_texts WHERE NOT x LIKE 'T%';
-- expect[ansi=true]: error CAST_INVALID_INPUT
SELECT id, hour(CAST(x AS timestamp_ntz)) AS a FROM timestamp_texts;
-- A time without a date is one of today, which the two engines may see differ at midnight.
SELECT CAST(concat('12:30:', id % 60) AS timestamp) > CAST('T12:30:15' AS timestamp) - INTERVAL '2' DAY AS a FROM timestamp_texts;
SELECT id, CAST(x AS timestamp) AS a FROM timestamp_texts WHERE id < 0;
