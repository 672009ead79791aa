-- Sequences of integers with steps, and of dates.
-- tables: nests
-- matrix: ansi=true,false ; aqe=true

SELECT id, sequence(id, id + 9, 3L), sequence(id + 5, id, -2L), sequence(1, i + 9, 2), sequence(id, id, -id), sequence(id, id, id - id), sequence(id, 500, CAST(NULL AS BIGINT)) FROM nests;
SELECT id, sequence(cast(i AS TINYINT), 9Y, 4Y), sequence(cast(i AS SMALLINT), -9S, -3S), sequence(-9223372036854775807L + (id - id), 9223372036854775807L, 9223372036854775807L) FROM nests;
-- expect: error _LEGACY_ERROR_TEMP_3243
-- errors: exact
SELECT id, sequence(id, 20, id - 18) FROM nests WHERE id = 10;
-- expect: error _LEGACY_ERROR_TEMP_3243
-- errors: exact
SELECT id, sequence(i, 100, 0) FROM nests WHERE id = 9;
-- expect: error COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER
SELECT id, sequence(id - 9223372036854775807L, 9223372036854775807L, 3L) FROM nests;
SELECT id, sequence(DATE'2020-02-27' + i, DATE'2020-03-01'), sequence(DATE'1582-10-03', DATE'1582-10-16' + i), sequence(DATE'0001-01-02', DATE'0001-01-05' + i) FROM nests;
SELECT id, d FROM nests LATERAL VIEW explode(sequence(DATE'2020-12-30', DATE'2020-12-30' + i)) v AS d;
SELECT id, sequence(DATE'2020-01-31', DATE'2020-05-01' + i, INTERVAL 1 MONTH), sequence(DATE'2020-01-31', DATE'2016-05-01' + i, INTERVAL -7 MONTH), sequence(DATE'2020-01-31', DATE'2021-01-31' + i, INTERVAL 14 DAY), sequence(DATE'2020-01-31', DATE'2020-03-31' + i, INTERVAL 36 HOUR), sequence(DATE'2020-12-31', DATE'2020-03-31' + i, INTERVAL '-1 01:00:00' DAY TO SECOND), sequence(DATE'2000-02-29', DATE'2020-03-31' + i, INTERVAL 1 YEAR) FROM nests;
SELECT id, sequence(DATE'2020-01-31', DATE'2020-01-31', INTERVAL 1 MONTH * (id + 1)), sequence(DATE'2020-01-31' + i, DATE'2021-01-31', INTERVAL 1 MONTH * (id % 3 + 1)), sequence(DATE'2020-01-31', IF(i > 0, DATE'2020-03-01', NULL), INTERVAL 1 MONTH), sequence(DATE'9990-01-31', DATE'9999-12-31', INTERVAL 290 DAY), sequence(DATE'1500-01-31', DATE'1600-12-31', INTERVAL 30 MONTH) FROM nests WHERE id < 40;
-- set: spark.sql.session.timeZone=America/Los_Angeles
SELECT id, sequence(DATE'2020-03-01' + i, DATE'2020-12-31', INTERVAL 1 MONTH), sequence(DATE'2020-03-01' + i, DATE'2020-03-31', INTERVAL 30 HOUR), sequence(TIMESTAMP'2020-03-01 02:30:00', TIMESTAMP'2020-04-02 00:00:00' + INTERVAL 1 HOUR * id, INTERVAL 1 DAY), sequence(TIMESTAMP'2020-11-30 01:30:00', TIMESTAMP'2020-10-20 00:00:00' + INTERVAL 1 HOUR * id, INTERVAL '-1 01' DAY TO HOUR), sequence(TIMESTAMP'2020-01-08 02:30:00', TIMESTAMP'2020-12-02 00:00:00' + INTERVAL 1 DAY * id, INTERVAL 1 MONTH) FROM nests WHERE id < 50;
SELECT id, sequence(TIMESTAMP'2020-01-31 01:02:03', TIMESTAMP'2020-06-01 00:00:00' + make_dt_interval(i), INTERVAL 1 MONTH), sequence(TIMESTAMP'2020-01-31 01:02:03', TIMESTAMP'2020-02-09 00:00:00' + make_dt_interval(i), INTERVAL 7 HOURS), sequence(TIMESTAMP_NTZ'2020-04-03 02:30:00', TIMESTAMP_NTZ'2020-04-13 00:00:00' + make_dt_interval(i)), sequence(TIMESTAMP'2020-04-03 02:30:00', TIMESTAMP'2020-04-01 00:00:00' + make_dt_interval(i)), sequence(TIMESTAMP_NTZ'2020-04-30 02:30:00', TIMESTAMP_NTZ'2021-04-13 00:00:00' + make_dt_interval(i), INTERVAL 2 MONTHS) FROM nests;
SELECT id, sequence(TIMESTAMP'2020-01-31 00:00:00', TIMESTAMP'2020-01-31 00:00:00', INTERVAL 0 SECOND * id), sequence(TIMESTAMP'2020-01-31 00:00:00.000002', TIMESTAMP'2020-01-30 00:00:00.000003' + INTERVAL 1 SECOND * id, INTERVAL -1 DAY), sequence(TIMESTAMP'0001-01-31 00:00:00', TIMESTAMP'2020-05-01 00:00:00', INTERVAL 20 YEAR * (i + 4)) FROM nests;
-- errors: exact
-- expect: error _LEGACY_ERROR_TEMP_3242
SELECT id, sequence(DATE'2020-01-31', DATE'2020-05-01' + i, INTERVAL 1 HOUR) FROM nests;
-- errors: exact
-- expect: error _LEGACY_ERROR_TEMP_3242
SELECT id, sequence(DATE'2020-01-31', DATE'2020-05-01' + i, INTERVAL 0 MONTH) FROM nests;
-- errors: exact
-- expect: error _LEGACY_ERROR_TEMP_3243
SELECT id, sequence(DATE'2020-01-31', DATE'2020-05-01' + i, INTERVAL -1 MONTH) FROM nests WHERE id = 2;
-- errors: exact
-- expect: error _LEGACY_ERROR_TEMP_3243
SELECT id, sequence(TIMESTAMP'2020-01-31 00:00:00', TIMESTAMP'2020-05-01 00:00:00', INTERVAL -30 HOUR * id) FROM nests WHERE id = 1;
-- errors: exact
-- expect: error _LEGACY_ERROR_TEMP_3243
SELECT id, sequence(DATE'2020-01-31', DATE'2020-05-01' + i, INTERVAL -1 DAY) FROM nests WHERE id = 2;
-- expect: error COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER
SELECT id, sequence(TIMESTAMP'0001-01-31 00:00:00', TIMESTAMP'2020-05-01 00:00:00', INTERVAL 1 MICROSECOND * id) FROM nests WHERE id = 1;
-- An interval of months and days is no type of the engine.
-- expect: partly interval
SELECT id, sequence(DATE'2020-01-31', DATE'2020-05-01' + i, make_interval(0, 1, 0, 1)) FROM nests;
