-- Fields, truncation, conversion and text of timestamps, in zones with odd offsets, before 1582 and after 9999.
-- tables: times
-- matrix: ansi=true,false ; tz=Asia/Kathmandu,America/Sao_Paulo,Europe/Dublin,UTC

SELECT id, hour(ts) AS a, minute(ts) AS b, second(ts) AS c, hour(ntz) AS d, minute(ntz) AS e, second(ntz) AS f FROM times;
SELECT id, extract(SECOND FROM ts) AS a, extract(SECOND FROM ntz) AS b, extract(WEEK FROM ts) AS c, extract(YEAROFWEEK FROM d) AS e, extract(DAYOFWEEK_ISO FROM d) AS f FROM times;
SELECT id, date_trunc('HOUR', ts) AS a, date_trunc('minute', ts) AS b, date_trunc('SECOND', ts) AS c, date_trunc('MILLISECOND', ts) AS d, date_trunc('MICROSECOND', ts) AS e FROM times;
SELECT id, date_trunc('DAY', ts) AS a, date_trunc('week', ts) AS b, date_trunc('MONTH', ts) AS c, date_trunc('quarter', ts) AS d, date_trunc('YEAR', ts) AS e, date_trunc('DD', ts) AS f FROM times WHERE ts > TIMESTAMP'0002-01-01 00:00:00' AND ts < TIMESTAMP'9998-01-01 00:00:00';
SELECT id, date_trunc('MONTH', ntz) AS a, date_trunc('HOUR', ntz) AS b FROM times WHERE ntz > TIMESTAMP_NTZ'0002-01-01 00:00:00' AND ntz < TIMESTAMP_NTZ'9998-01-01 00:00:00';
SELECT id, unix_seconds(ts) AS a, unix_millis(ts) AS b, unix_micros(ts) AS c, unix_timestamp(ts) AS d, to_unix_timestamp(ts) AS e FROM times;
SELECT id, timestamp_seconds(days) AS a, timestamp_millis(huge) AS b, timestamp_micros(huge) AS c, timestamp_seconds(huge) AS d FROM times;
SELECT id, CAST(ts AS BIGINT) AS a, CAST(ts AS DOUBLE) AS b, CAST(days AS TIMESTAMP) AS c, CAST(huge AS TIMESTAMP) AS e, CAST(tdays AS TIMESTAMP) AS f FROM times;
SELECT id, CAST(CAST(unix_micros(ts) AS TIMESTAMP) AS BIGINT) AS a, CAST(CAST(unix_micros(ts) * 4 AS TIMESTAMP) AS DOUBLE) AS b FROM times WHERE ts < TIMESTAMP'3000-01-01 00:00:00' AND ts > TIMESTAMP'1000-01-01 00:00:00';
SELECT id, unix_date(d) AS a, date_from_unix_date(huge) > d AS b, date_from_unix_date(days) AS c, weekofyear(d) AS e, dayname(d) AS f, monthname(d) AS g FROM times;
SELECT id, next_day(d, 'MON') AS a, next_day(d, 'su') AS b, next_day(d, 'Thursday') AS c FROM times WHERE d BETWEEN DATE'0002-01-01' AND DATE'9998-01-01';
SELECT id, CAST(ts AS STRING) AS a, CAST(ntz AS STRING) AS b FROM times;
SELECT id, date_format(ts, 'yyyy-MM-dd') AS a, date_format(ts, "yyyy-MM-dd'T'HH:mm:ss.SSS") AS b, date_format(ts, 'MMM yyyy') AS c, date_format(ts, 'EEE, dd MMM hh:mm') AS e, date_format(ts, 'HHmm S') AS f, date_format(ntz, 'yyyyMMdd') AS g FROM times;
SELECT id, date_format(d, 'yyyy-MM') AS a, date_format(d, 'E dd') AS b FROM times WHERE d BETWEEN DATE'0002-01-01' AND DATE'9998-01-01';
SELECT id, from_unixtime(days) AS a, from_unixtime(huge, 'yyyy-MM-dd HH:mm') AS b, from_unixtime(unix_seconds(ts)) AS c FROM times;
SELECT id, from_utc_timestamp(ts, 'Asia/Kolkata') AS a, to_utc_timestamp(ts, 'America/New_York') AS b, from_utc_timestamp(ts, '+05:30') AS c, to_utc_timestamp(ts, 'Europe/Berlin') AS e FROM times WHERE ts > TIMESTAMP'0002-01-01 00:00:00' AND ts < TIMESTAMP'9998-01-01 00:00:00';
SELECT id, months_between(ts, ts2) AS a, months_between(ts, ts2, false) AS b, months_between(d, d2) AS c FROM times WHERE d BETWEEN DATE'0002-01-01' AND DATE'9998-01-01' AND d2 BETWEEN DATE'0002-01-01' AND DATE'9998-01-01';
SELECT id, CAST(ts AS TIMESTAMP_NTZ) AS a, CAST(ntz AS TIMESTAMP) AS b, ts > ntz AS c FROM times WHERE ntz > TIMESTAMP_NTZ'0002-01-01 00:00:00' AND ntz < TIMESTAMP_NTZ'9998-01-01 00:00:00' AND ts > TIMESTAMP'0002-01-01 00:00:00' AND ts < TIMESTAMP'9998-01-01 00:00:00';
SELECT date_format(ts, 'yyyy-MM') AS k, count(*) FROM times GROUP BY 1;
SELECT date_trunc('DAY', ts) AS k, count(*) FROM times WHERE ts > TIMESTAMP'0002-01-01 00:00:00' GROUP BY 1;
SELECT id, date_format(ts, 'yyyy') AS a, hour(ts) AS b, months_between(ts, ts2) AS c FROM times WHERE id < 0;
-- Other fields, and other policies of the parser, stay in Spark.
-- expect: partly date_format
SELECT id, date_format(ts, 'GGGG d, yy') AS a FROM times WHERE id > 5;
-- set: spark.sql.legacy.timeParserPolicy=LEGACY
-- expect: partly date_format
SELECT id, date_format(ts, 'yyyy-MM-dd') AS a FROM times WHERE id > 5 AND ts > TIMESTAMP'1600-01-01 00:00:00';
-- set: spark.sql.legacy.timeParserPolicy=LEGACY
-- expect: any
SELECT id, CAST(d AS STRING) AS a FROM times;
-- set: spark.sql.legacy.timeParserPolicy=LEGACY
-- expect: any
SELECT id, CAST(ts AS STRING) AS a, CAST(ntz AS STRING) AS b FROM times;
