-- Times of day: fields, truncation, sums with intervals, differences, parsing, casts, timestamps of a date and a time.
-- tables: clocks, zones
-- matrix: ansi=true,false ; tz=America/St_Johns

SELECT id, hour(t), minute(t), second(t), extract(SECOND FROM t), extract(HOUR FROM t), date_part('minute', t) FROM clocks;
SELECT id, extract(SECOND FROM CAST(t AS TIME(3))), extract(SECOND FROM CAST(t AS TIME(0))), hour(TIME'23:59:59') FROM clocks;
SELECT count(hour(t)), max(second(t)) FROM clocks WHERE id < 0;

-- Truncation and differences, with columns as units; names in any case.
SELECT id, time_trunc('HOUR', t), time_trunc('minute', t), time_trunc('Second', t), time_trunc('MILLISECOND', t), time_trunc('microsecond', t), time_trunc(NULL, t) FROM clocks;
SELECT id, time_diff('HOUR', t, t2), time_diff('MINUTE', t2, t), time_diff('second', t, TIME'12:00:00'), time_diff('MILLISECOND', TIME'12:00:00', t2), time_diff('MICROSECOND', t, t2) FROM clocks;
SELECT id, time_trunc(u, t), time_diff(u, t2, t), time_trunc(u, TIME'12:34:56.789012'), time_diff(u, TIME'12:34:56.789012', TIME'01:00:00') FROM (SELECT *, CASE id % 4 WHEN 0 THEN 'HOUR' WHEN 1 THEN 'second' WHEN 2 THEN 'MiLLisecond' END AS u FROM clocks);
SELECT id, time_trunc(if(t IS NULL, 'x', 'HOUR'), t) FROM clocks;
-- expect: error INVALID_PARAMETER_VALUE.TIME_UNIT
-- errors: exact
SELECT time_trunc('DAY', t) FROM (SELECT t FROM clocks WHERE id = 1);
-- expect: error INVALID_PARAMETER_VALUE.TIME_UNIT
-- errors: exact
SELECT time_diff('DAY', t, t2) FROM (SELECT t, t2 FROM clocks WHERE id = 1);
-- expect: error INVALID_PARAMETER_VALUE.TIME_UNIT
SELECT time_trunc(s, t) FROM clocks;

-- Intervals.
SELECT id, t - t2, t2 - TIME'12:00:00', TIME'23:59:59.999999' - t, CAST(t AS TIME(3)) - t2 FROM clocks;
SELECT id, t + INTERVAL '1' HOUR, t + INTERVAL '00:30:00.000001' HOUR TO SECOND FROM clocks WHERE t < TIME'22:00:00';
SELECT id, t - INTERVAL '0 00:00:00.5' DAY TO SECOND, CAST(t AS TIME(0)) - INTERVAL '01:00' HOUR TO MINUTE, INTERVAL '1' SECOND + t FROM clocks WHERE t BETWEEN TIME'02:00:00' AND TIME'20:00:00';
SELECT id, try_add(t, INTERVAL '12' HOUR) FROM clocks WHERE t < TIME'10:00:00';
SELECT id, TIME'12:00:00' + make_dt_interval(0, hours % 12, 0, 0.5) FROM clocks;
-- expect: error DATETIME_OVERFLOW
-- errors: exact
SELECT t + INTERVAL '23' HOUR FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.789012');
-- expect: error DATETIME_OVERFLOW
-- errors: exact
SELECT t - INTERVAL '13:00:00.5' HOUR TO SECOND FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.7');
-- expect: error DATETIME_OVERFLOW
-- errors: exact
SELECT t - INTERVAL '10' DAY FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.7');
-- expect: error DATETIME_OVERFLOW
-- errors: exact
SELECT t - INTERVAL '3000' MINUTE FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.7');
-- expect: error DATETIME_OVERFLOW
-- errors: exact
SELECT t - INTERVAL '90000' SECOND FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.7');
-- expect: error ARITHMETIC_OVERFLOW
-- errors: exact
SELECT t + INTERVAL '106751991' DAY FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.7');

-- Made of parts.
SELECT id, make_time(hours, id % 60, id % 59 + 0.25), make_time(1, 2, 3.123456), make_time(hours, 0, 59.999999) FROM clocks;
SELECT id, make_time(hours, NULL, 1), make_time(hours, id, CAST(NULL AS DECIMAL(16,6))) FROM clocks;
-- expect: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT make_time(hours + 24, 0, 0) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT make_time(hours, 60, 60) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT make_time(hours, 0, 60.5) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT make_time(hours + 30, 0, -1.5) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT make_time(hours + 30, 0, 2147483648) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
SELECT make_time(n, 0, 0) FROM clocks;

-- Texts.
SELECT id, to_time(good), try_to_time(s), hash(try_to_time(s)), CAST(try_to_time(s) AS STRING), try_to_time(good, 'HH:mm:ss'), try_to_time(s, 'H:m:s') FROM clocks;
SELECT id, try_to_time(s, 'hh:mm a'), try_to_time(s, 'HH'), try_to_time(s, "HH:mm:ss.SSSSSS"), try_to_time(s, 'HH:mm:ss.SSS'), try_to_time(s, 'h:m:s a') FROM clocks;
SELECT id, to_time(date_format(timestamp_seconds(id * 4567), 'HH.mm.ss'), 'HH.mm.ss'), to_time(NULL), to_time('10:11:12'), to_time('12.10.05', 'HH.mm.ss') FROM clocks;
-- expect: error CANNOT_PARSE_TIME
-- errors: exact
SELECT to_time(s) FROM (SELECT s FROM clocks WHERE s = 'x');
-- expect: error CANNOT_PARSE_TIME
-- errors: exact
SELECT to_time(s, 'HH:mm') FROM (SELECT concat(s, '\'') AS s FROM clocks WHERE s = 'x');
-- expect: error CANNOT_PARSE_TIME
SELECT to_time(s) FROM clocks;
-- expect: partly try_to_time
SELECT id, try_to_time(good, if(id > 5, 'HH:mm:ss', 'HH:mm')) FROM clocks;
-- expect: partly try_to_time
SELECT id, try_to_time(good, 'HH:mm:ss.SSSSSSSSS') FROM clocks;

-- Casts.
SELECT id, CAST(t AS STRING), CAST(CAST(t AS TIME(3)) AS STRING), t || 'x', length(t2), concat(t, t2) FROM clocks;
SELECT id, CAST(t AS TIME(0)), CAST(t AS TIME(2)), CAST(t AS TIME(6)), CAST(CAST(t AS TIME(1)) AS TIME(5)), typeof(t), typeof(CAST(t AS TIME(2))) FROM clocks;
SELECT id, TRY_CAST(s AS TIME), hash(TRY_CAST(s AS TIME)), TRY_CAST(s AS TIME(2)), TRY_CAST(s AS TIME(0)), CAST(good AS TIME), CAST('12:30:00.123456' AS TIME(1)), t = good FROM clocks;
SELECT id, CAST(t AS INT), CAST(t AS BIGINT), TRY_CAST(t AS SMALLINT), TRY_CAST(t AS TINYINT), CAST(t AS DECIMAL(14,6)), CAST(t AS DECIMAL(10,0)), CAST(t AS DECIMAL(38,9)), TRY_CAST(t AS DECIMAL(4,1)), CAST(t AS DECIMAL(20,3)) FROM clocks;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(t AS SMALLINT) FROM clocks;
-- expect[ansi=true]: error CAST_OVERFLOW
-- errors: exact
SELECT CAST(t AS TINYINT) FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.7');
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
-- errors: exact
SELECT CAST(t AS DECIMAL(4,2)) FROM (SELECT t FROM clocks WHERE t = TIME'12:34:56.7');
-- expect[ansi=true]: error CAST_INVALID_INPUT
-- errors: exact
SELECT CAST(s AS TIME(3)) FROM (SELECT s FROM clocks WHERE s = 'x');
-- expect[ansi=true]: error CAST_INVALID_INPUT
SELECT CAST(s AS TIME) FROM clocks;
-- expect[spark=4.1]: rejected DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION
SELECT id, CAST(ts AS TIME), CAST(ts AS TIME(1)), CAST(CAST(ts AS TIMESTAMP_NTZ) AS TIME(4)) FROM zones WHERE id < 2000;

-- Timestamps of a date and a time.
SELECT id, make_timestamp_ntz(d, t), try_make_timestamp_ntz(d, t2), make_timestamp_ntz(DATE'2020-02-29', t), make_timestamp_ntz(d, TIME'12:00:00') FROM (SELECT * FROM clocks WHERE d IS NULL OR d BETWEEN DATE'0001-01-02' AND DATE'9999-12-30');
SELECT id, make_timestamp(d, t), make_timestamp(d, t, 'CET'), make_timestamp_ltz(d, t2), make_timestamp_ltz(d, t, 'America/Los_Angeles'), try_make_timestamp(d, t), try_make_timestamp_ltz(d, t, '+01:30') FROM (SELECT * FROM clocks WHERE d IS NULL OR d BETWEEN DATE'0001-01-02' AND DATE'9999-12-30');
SELECT c.id, zone, make_timestamp(DATE'2021-03-28', t, zone), try_make_timestamp_ltz(d, t2, zone) FROM (SELECT * FROM clocks WHERE d IS NULL OR d BETWEEN DATE'0001-01-02' AND DATE'9999-12-30') c JOIN (SELECT zone, id FROM zones WHERE zone IN ('CET', 'Asia/Tokyo', 'UTC', '+7')) z ON c.id % 10 = z.id % 10;
-- expect: error INVALID_TIMEZONE
SELECT id, try_make_timestamp(d, t, s) FROM (SELECT * FROM clocks WHERE d IS NULL OR d BETWEEN DATE'0001-01-02' AND DATE'9999-12-30');
SELECT id, unix_micros(make_timestamp(d, t)), CAST(make_timestamp_ntz(d, t2) AS STRING) FROM clocks WHERE d < DATE'0002-01-01' OR d > DATE'9999-01-01';
-- expect: error INVALID_TIMEZONE
-- errors: exact
SELECT make_timestamp(d, t, 'nowhere') FROM (SELECT t, d FROM clocks WHERE t = TIME'12:34:56.7' AND d IS NOT NULL);

-- Constant in a query.
SELECT id, current_time() >= TIME'00:00:00', hour(current_time(0)) BETWEEN 0 AND 23 FROM clocks;

-- Since Spark 4.3.
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
SELECT id, time_to_seconds(t), time_to_millis(t), time_to_micros(t2), time_to_seconds(TIME'00:00:01.5') FROM clocks;
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
SELECT id, time_from_seconds(id * 300), time_from_millis(id * 360000 + 7), time_from_micros(id * 360000000L + 9), time_from_seconds(CAST(id AS BIGINT)) FROM clocks;
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
SELECT id, hash(time_from_seconds(id + 0.123456789)), hash(time_from_seconds(id + 0.1234567891D)), time_from_seconds(id + 0.5), time_from_seconds(id + 0.123456789), time_from_seconds(id + 0.1D), time_from_seconds(CAST(id / 7 AS FLOAT)) FROM clocks;
-- expect[spark=4.1]: rejected UNSUPPORTED_TIME_PRECISION
SELECT id, hash(TRY_CAST(s AS TIME(9))), CAST(TRY_CAST(s AS TIME(8)) AS STRING), extract(SECOND FROM TRY_CAST(s AS TIME(9))), TRY_CAST(s AS TIME(9)) - t, t < TRY_CAST(s AS TIME(7)), CAST(TRY_CAST(s AS TIME(9)) AS TIME(7)) FROM clocks;
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
-- expect[spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT time_from_seconds(hours + 86400) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
-- expect[spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT time_from_seconds(hours - 1.5D) FROM (SELECT hours FROM clocks WHERE id = 0);
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
-- expect[spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT time_from_seconds(hours + 0.00000000001) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
-- expect[spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT time_from_micros(hours + 9223372036854775000) FROM (SELECT hours FROM clocks WHERE id = 1);
-- expect[spark=4.1]: rejected UNRESOLVED_ROUTINE
-- expect[spark=4.3]: error DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION
-- errors: exact
SELECT time_from_seconds(CAST(good AS DOUBLE)) FROM (SELECT concat('NaN', repeat('x', hours - 1)) AS good FROM clocks WHERE id = 1);
