-- Strings to dates and timestamps by a pattern: plain forms, signs, short fields, invalid values, gaps and overlaps.
-- tables: times
-- matrix: ansi=true,false ; tz=Asia/Kathmandu,America/Sao_Paulo,America/New_York,UTC

SELECT id, to_date(date_format(ntz, 'yyyy-MM-dd'), 'yyyy-MM-dd') AS a, to_timestamp(date_format(ntz, 'yyyy-MM-dd HH:mm:ss'), 'yyyy-MM-dd HH:mm:ss') AS b FROM times WHERE ntz > TIMESTAMP_NTZ'0002-01-01 00:00:00' AND ntz < TIMESTAMP_NTZ'9998-01-01 00:00:00';
SELECT id, to_date(date_format(ntz, 'yyyyMMdd'), 'yyyyMMdd') AS a, to_date(date_format(ntz, 'dd/MM/yyyy'), 'dd/MM/yyyy') AS b, to_timestamp(date_format(ntz, 'ddMMyyyy HHmm'), 'ddMMyyyy HHmm') AS c FROM times WHERE ntz > TIMESTAMP_NTZ'0002-01-01 00:00:00' AND ntz < TIMESTAMP_NTZ'9998-01-01 00:00:00';
SELECT id, to_timestamp(date_format(ntz, "yyyy-MM-dd'T'HH:mm:ss"), "yyyy-MM-dd'T'HH:mm:ss") AS a, unix_timestamp(date_format(ntz, 'MM/dd/yyyy HH:mm'), 'MM/dd/yyyy HH:mm') AS b, to_unix_timestamp(date_format(ntz, 'yyyy-MM'), 'yyyy-MM') AS c, unix_timestamp(date_format(ntz, 'yyyy-MM-dd HH:mm:ss')) AS e FROM times WHERE ntz > TIMESTAMP_NTZ'0002-01-01 00:00:00' AND ntz < TIMESTAMP_NTZ'9998-01-01 00:00:00';
-- Hours that the zones skip or repeat.
SELECT id, to_timestamp(concat('2018-11-04 0', id % 4, ':30'), 'yyyy-MM-dd HH:mm') AS a, to_timestamp(concat('2018-03-11 0', id % 4, ':15'), 'yyyy-MM-dd HH:mm') AS b, unix_timestamp(concat('2018-02-17 2', id % 4, ':15'), 'yyyy-MM-dd HH:mm') AS c FROM times;
-- Every row of these has one of the texts. The try_ functions return NULL for those that are not parsed.
SELECT id, x, unix_micros(try_to_timestamp(x, 'yyyy-MM-dd')) AS a, unix_micros(try_to_timestamp(x, 'yyyyMMdd')) AS b, unix_micros(try_to_timestamp(x, "yyyy-MM-dd'T'HH:mm:ss")) AS c, unix_micros(try_to_timestamp(x, 'dd/MM/yyyy')) AS e, unix_micros(try_to_timestamp(x, 'yyyy-MM')) AS f, unix_micros(try_to_timestamp(x, 'HH yyyy')) AS g, unix_micros(try_to_timestamp(x, "yyyy'kiss'MM")) AS h
FROM (SELECT id, CASE id % 36 WHEN 0 THEN '2020-02-29' WHEN 1 THEN '2020-02-30' WHEN 2 THEN '2021-02-29' WHEN 3 THEN '2020-13-01' WHEN 4 THEN '2020-00-10' WHEN 5 THEN '2020-1-01' WHEN 6 THEN '' WHEN 7 THEN ' 2020-01-01' WHEN 8 THEN '2020-01-01 ' WHEN 9 THEN '+2020-01-01' WHEN 10 THEN '-2020-01-01' WHEN 11 THEN '-0000-01-01' WHEN 12 THEN '+12345-01-01' WHEN 13 THEN '12345-01-01' WHEN 14 THEN '0000-01-01' WHEN 15 THEN '٢٠٢٠-01-01' WHEN 16 THEN '20200229' WHEN 17 THEN '120200229' WHEN 18 THEN '+1202002291' WHEN 19 THEN '2020-02-29t23:59:59' WHEN 20 THEN '2020-02-29T24:00:00' WHEN 21 THEN '2020-02-29T23:60:00' WHEN 22 THEN '29/02/2020' WHEN 23 THEN '29/02/12020' WHEN 24 THEN '2020-02' WHEN 25 THEN '2020-13' WHEN 26 THEN '24 2020' WHEN 27 THEN '23 -0001' WHEN 28 THEN '2020-01-01é😀' WHEN 29 THEN '2020KISS02' WHEN 30 THEN '2020kiſs03' WHEN 31 THEN '2020K\u0130SS04' WHEN 32 THEN '2020Kıss05' WHEN 33 THEN '+250000-12-31' WHEN 34 THEN '-250000-01-01' WHEN 35 THEN '1582-10-10' END AS x FROM times);
SELECT id, unix_timestamp(x, 'yyyy-MM-dd') AS a FROM (SELECT id, date_format(ntz, 'yyyy-MM-dd') AS x FROM times WHERE id < 0);
SELECT id, to_date(date_format(ntz, '2021-MM-dd'), 'yyyy-MM-dd') AS a FROM times WHERE date_format(ntz, 'MM-dd') <> '02-29';
-- expect[ansi=true]: error CANNOT_PARSE_TIMESTAMP
SELECT id, to_date(concat('2020-02-', 28 + id % 4), 'yyyy-MM-dd') AS a, unix_timestamp(concat('2020-01-', 28 + id % 4), 'yyyy-MM-dd') AS b FROM times;
-- Other fields, repeated fields, fields without the next larger one and other policies of the parser stay in Spark.
-- expect: partly to_(date|timestamp)
SELECT id, to_date(concat('2020-1-', 1 + id % 4), 'yyyy-Md') AS a FROM times WHERE id < 0;
-- expect: partly to_(date|timestamp)
SELECT id, to_timestamp(concat('2020 2020 0', 1 + id % 4), 'yyyy yyyy MM') AS a FROM times;
-- expect: partly to_(date|timestamp)
SELECT id, to_timestamp(concat('0', 1 + id % 4), 'mm') AS a, to_timestamp(concat('2020:0', 1 + id % 4), 'yyyy:ss') AS b FROM times;
-- expect: partly to_(date|timestamp)
SELECT id, to_timestamp(concat('2020-01-0', 1 + id % 4, '.5'), 'yyyy-MM-dd.S') AS a FROM times;
-- set: spark.sql.legacy.timeParserPolicy=LEGACY
-- expect: partly to_(date|timestamp)
SELECT id, to_date(concat('2020-01-0', 1 + id % 4), 'yyyy-MM-dd') AS a FROM times;
-- set: spark.sql.legacy.timeParserPolicy=EXCEPTION
-- expect: partly to_(date|timestamp)
SELECT id, to_date(concat('2020-01-0', 1 + id % 4), 'yyyy-MM-dd') AS a FROM times;
