-- year, month, date_add, date_sub, string to date; before 1582, leap days, the ends of the calendar.
-- tables: times, texts
-- matrix: ansi=true,false ; tz=Asia/Kathmandu

SELECT id, year(d) AS y, month(d) AS m FROM times;
SELECT year(d) AS y, count(*) FROM times GROUP BY year(d);
SELECT id FROM times WHERE year(d) = 2024 OR month(d) = 2;
SELECT id, date_add(d, 1) AS x, date_sub(d, 1) AS y FROM times WHERE d BETWEEN DATE'0002-01-01' AND DATE'9998-01-01';
SELECT id, date_add(d, days) AS x, date_sub(d, days) AS y FROM times WHERE d BETWEEN DATE'0003-01-01' AND DATE'9998-01-01';
SELECT id, date_add(d, sdays) AS x, date_sub(d, tdays) AS y FROM times WHERE d BETWEEN DATE'0003-01-01' AND DATE'9998-01-01';
SELECT id, year(date_add(d, 4000000)) AS x, year(date_sub(d, 4000000)) AS y, month(date_sub(d, 1000000)) AS z FROM times;
SELECT id, date_add(d, huge) > d AS x, date_sub(d, huge) > d AS y, year(date_add(d, huge)) AS z FROM times;
SELECT id FROM times WHERE d >= date_sub(DATE'2024-03-01', 90) AND d < date_add(DATE'2024-01-01', 60);
-- expect: any
SELECT id, d + 1 AS x, d - 1 AS y, datediff(d, d2) AS z FROM times WHERE d BETWEEN DATE'0002-01-01' AND DATE'9998-01-01';
-- expect: any
SELECT id, day(d), quarter(d), dayofweek(d), weekday(d), dayofyear(d) FROM times;
-- expect: any
SELECT id, year(ts) AS y, month(ts) AS m, CAST(ts AS DATE) AS x, year(ntz) AS n FROM times;
-- expect: any
SELECT id, CAST(ts AS STRING), CAST(d AS STRING), CAST(ntz AS STRING) FROM times;
-- expect: any
SELECT id, CAST(d AS TIMESTAMP), CAST(ts AS TIMESTAMP_NTZ), hour(ts), minute(ts) FROM times WHERE d > DATE'0002-01-01' AND ts > TIMESTAMP'1000-01-01 00:00:00';
SELECT id, CAST(good AS DATE) AS x FROM texts;
SELECT id, year(CAST(good AS DATE)) AS x FROM texts WHERE CAST(good AS DATE) > DATE'2000-01-01';
SELECT CAST(good AS DATE) AS x, count(*) FROM texts GROUP BY 1;
-- expect[ansi=true]: error CAST_INVALID_INPUT
SELECT id, CAST(ds AS DATE) >= DATE'2024-01-01' AS x, year(CAST(ds AS DATE)) AS y FROM texts;
-- expect[ansi=true]: error CAST_INVALID_INPUT
SELECT id FROM texts WHERE CAST(ds AS DATE) = DATE'2024-01-01';
-- expect[ansi=true]: error CAST_INVALID_INPUT
SELECT id FROM texts WHERE ds = DATE'2024-01-01';
-- expect: any
SELECT id, try_cast(ds AS DATE) IS NULL AS x FROM texts;
