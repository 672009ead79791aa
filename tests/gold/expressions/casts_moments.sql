-- Casts between timestamps and numbers, of dates to local timestamps, of floating-point numbers to wide decimals.
-- tables: times, numbers, tame
-- matrix: ansi=true,false ; tz=Asia/Kathmandu

-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(ts AS int) AS a, CAST(ts AS smallint) AS b, CAST(ts AS tinyint) AS c FROM times;
SELECT id, try_cast(ts AS int) AS a, CAST(CAST(tdays * 100 AS timestamp) AS smallint) AS b, CAST(ts AS float) AS e FROM times;
SELECT id, CAST(d AS timestamp_ntz) AS a, CAST(d AS timestamp_ntz) < TIMESTAMP_NTZ'2000-01-01 00:00:00' AS b FROM times;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, unix_micros(CAST(d AS timestamp)) AS a, unix_micros(CAST(-f AS timestamp)) AS b FROM (SELECT id, CASE WHEN d = d AND abs(d) <> double('inf') THEN nanvl(d, 0D) END AS d, CASE WHEN abs(f) < 1e30 THEN f END AS f FROM numbers);
-- expect[ansi=true]: error CAST_INVALID_INPUT
SELECT id, unix_micros(CAST(CASE WHEN abs(d) < 1e10D THEN d ELSE double('NaN') END AS timestamp)) AS a FROM numbers;
SELECT id, unix_micros(try_cast(d AS timestamp)) AS a, unix_micros(CAST(CASE WHEN abs(d2) < 1e12D THEN d2 END AS timestamp)) AS b, unix_micros(try_cast(f AS timestamp)) AS c FROM numbers;
SELECT id, unix_micros(CAST(n9 AS timestamp)) AS a, unix_micros(CAST(n18 AS timestamp)) AS b, unix_micros(CAST(n38 AS timestamp)) AS c, unix_micros(CAST(n380 AS timestamp)) AS e FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, CAST(d AS decimal(38,10)) AS a, CAST(d2 AS decimal(20,0)) AS b, CAST(f AS decimal(38,18)) AS c FROM numbers;
SELECT id, CAST(d AS decimal(38,10)) AS a, CAST(d AS decimal(19,2)) AS b, CAST(f AS decimal(38,37)) AS c, try_cast(d AS decimal(30,28)) AS e, CAST(d * 1e-30D AS decimal(38,38)) AS g FROM (SELECT id, d, CASE WHEN abs(f) < 2 THEN f END AS f FROM tame);
SELECT id, try_cast(d AS decimal(38,10)) AS a, try_cast(d2 AS decimal(38,0)) AS b, try_cast(f AS decimal(25,20)) AS c FROM numbers;
-- Only without ANSI mode.
-- set: spark.sql.ansi.enabled=false
SELECT id, unix_micros(CAST(b AS timestamp)) AS a FROM numbers;
-- set: spark.sql.ansi.enabled=false
SELECT id, CAST(ts AS boolean) AS a FROM times;
-- Errors call a float a double.
-- expect[ansi=true]: error CAST_INVALID_INPUT
-- errors: exact
SELECT CAST(float(id) * float('infinity') AS timestamp) AS a FROM range(1, 2);
-- expect[ansi=true]: error CAST_INVALID_INPUT
-- errors: exact
SELECT CAST(float(id) * float('NaN') AS timestamp) AS a FROM range(1, 2);
