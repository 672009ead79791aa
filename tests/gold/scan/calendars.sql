-- Dates before 1582 and timestamps before 1900, in files of today and in those that Spark 2 wrote in the Julian calendar.
-- tables: times, legacy_dates, legacy_partitioned, legacy_groups
-- matrix: ansi=true,false ; tz=UTC,America/St_Johns

SELECT d FROM times WHERE d < DATE'1600-01-01';
SELECT ts FROM times WHERE ts < TIMESTAMP'1900-01-01 00:00:00';
SELECT ntz FROM times WHERE ntz < TIMESTAMP_NTZ'1600-01-01 00:00:00';

SELECT * FROM legacy_dates;
SELECT ntz, id FROM legacy_dates WHERE ntz < TIMESTAMP_NTZ'1582-10-15 00:00:00';
SELECT s, dt FROM legacy_dates WHERE dt = DATE'1500-03-01';
SELECT s, dt FROM legacy_dates WHERE dt IN (DATE'0001-01-01', DATE'1582-10-04', DATE'1582-10-05', DATE'1000-02-28');
SELECT s, ts FROM legacy_dates WHERE ts < TIMESTAMP'1582-10-15 00:00:00';
SELECT s, ts FROM legacy_dates WHERE ts BETWEEN TIMESTAMP'1883-11-17 00:00:00' AND TIMESTAMP'1883-11-19 00:00:00';
SELECT s, id FROM legacy_dates WHERE dt IS NULL OR dt >= DATE'1582-10-15' AND ts < TIMESTAMP'1900-01-01 12:00:00';
SELECT dt, count(*), min(ts), max(ts) FROM legacy_dates GROUP BY dt;
SELECT ts, count(*), min(dt), max(ntz) FROM legacy_dates GROUP BY ts;
SELECT year(dt), month(dt), count(*) FROM legacy_dates GROUP BY year(dt), month(dt);
SELECT a.s, b.s, a.dt FROM legacy_dates a JOIN legacy_dates b ON a.dt = b.dt AND a.ts = b.ts AND a.id = 1;
-- rows: ordered
SELECT id, s, ts, dt FROM legacy_dates ORDER BY ts, s, id, dt LIMIT 20;

-- Partition columns are in the calendar of today.
SELECT * FROM legacy_partitioned;
SELECT p_day, max(ts) FROM legacy_partitioned WHERE p_day < DATE'1582-10-15' GROUP BY p_day;

-- Statistics are in the old calendar.
SELECT dt FROM legacy_groups WHERE dt BETWEEN DATE'1499-12-01' AND DATE'1500-04-01';
SELECT dt FROM legacy_groups WHERE dt > DATE'1582-08-01' AND dt <= DATE'1582-12-31';
SELECT count(*), min(dt), max(ts) FROM legacy_groups WHERE dt < DATE'1200-01-01';
SELECT ts, dt FROM legacy_groups WHERE ts >= TIMESTAMP'1899-06-01 00:00:00' AND ts < TIMESTAMP'1900-03-01 00:00:00';
SELECT count(*), min(ts), max(dt) FROM legacy_groups WHERE ts < TIMESTAMP'0900-01-01 00:00:00';
-- Spark prunes the row group that holds 1500-02-29, a day of the Julian calendar alone, which it reads as 1 March.
-- oracle: spark.sql.parquet.filterPushdown=false
SELECT dt FROM legacy_groups WHERE dt = DATE'1500-03-01';
