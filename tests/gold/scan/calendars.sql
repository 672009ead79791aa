-- Dates before 1582. Files that Spark 2 or Hive wrote in the Julian calendar stop with an error (a known limit).
-- tables: times
-- matrix: ansi=true ; tz=UTC,America/St_Johns

SELECT d FROM times WHERE d < DATE'1600-01-01';
SELECT ts FROM times WHERE ts < TIMESTAMP'1900-01-01 00:00:00';
SELECT ntz FROM times WHERE ntz < TIMESTAMP_NTZ'1600-01-01 00:00:00';
