-- Dates before 1582 in files of both calendars: Spark 2 and Hive wrote Julian ones and marked the footer.
-- tables: legacy_dates, times
-- matrix: ansi=true ; tz=UTC,America/St_Johns

-- expect: any
SELECT * FROM legacy_dates;
-- expect: any
SELECT count(*) FROM legacy_dates WHERE dt < DATE'1582-10-10';
SELECT d FROM times WHERE d < DATE'1600-01-01';
SELECT ts FROM times WHERE ts < TIMESTAMP'1900-01-01 00:00:00';
SELECT ntz FROM times WHERE ntz < TIMESTAMP_NTZ'1600-01-01 00:00:00';
