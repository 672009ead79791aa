-- Time zones of the JVM: of the session, and as columns.
-- tables: zones, times
-- matrix: ansi=true,false ; tz=Asia/Bangkok,Africa/Casablanca,America/Caracas,GMT+8

SELECT id, from_utc_timestamp(ts, zone) AS a, to_utc_timestamp(ts, zone) AS b FROM zones;
SELECT id, convert_timezone(zone, 'Asia/Tehran', CAST(ts AS timestamp_ntz)) AS a, convert_timezone('Pacific/Apia', zone, CAST(ts AS timestamp_ntz)) AS b, convert_timezone(zone, zone, CAST(ts AS timestamp_ntz)) AS c FROM zones WHERE zone IS NULL OR id % 3 = 0;
SELECT id, make_timestamp(1850 + id % 300, 1 + id % 12, 1 + id % 28, id % 24, id % 60, 5.25, zone) AS a, make_timestamp_ltz(2024, 3, 31, 2, 30, 0, zone) AS b, try_make_timestamp(2024, 13, 31, 2, 30, 0, zone) AS c, make_timestamp(2024, 3, 31, 2, 30, 0, 'CET') AS e FROM zones;
SELECT id, CAST(concat('1975-06-07 08:09:10 ', zone) AS timestamp) AS a, try_cast(concat('2030-10-27 01:30:00', zone) AS timestamp) AS b FROM zones WHERE trim(zone) = zone;
SELECT id, CAST(ts AS string) AS a, CAST(ts AS date) AS b, hour(ts) AS c, minute(ts) AS e, date_trunc('DAY', ts) AS f, date_format(ts, 'yyyy-MM-dd HH:mm:ss XXX') AS g, CAST(CAST(ts AS timestamp_ntz) AS timestamp) AS h, ts + INTERVAL '1' DAY AS i, to_timestamp(date_format(ts, 'yyyy-MM-dd HH:mm:ss'), 'yyyy-MM-dd HH:mm:ss') AS k FROM zones WHERE ts BETWEEN TIMESTAMP'0009-01-01' AND TIMESTAMP'9990-01-01';
SELECT id, from_utc_timestamp(ts, 'Antarctica/Troll') AS a, to_utc_timestamp(ts, 'US/East-Indiana') AS b, from_utc_timestamp(ts, '+05') AS c, from_utc_timestamp(ts, NULL) AS e FROM times WHERE ts BETWEEN TIMESTAMP'0009-01-01' AND TIMESTAMP'9990-01-01';
-- expect: error INVALID_TIMEZONE
SELECT id, from_utc_timestamp(ts, concat(' ', zone)) AS a FROM zones;
-- expect: error INVALID_TIMEZONE
SELECT id, from_utc_timestamp(ts, concat('Nowhere/', id)) AS a FROM zones;
-- expect: error INVALID_TIMEZONE
SELECT id, to_utc_timestamp(ts, 'Nowhere') AS a FROM zones;
-- expect: error INVALID_TIMEZONE
SELECT id, convert_timezone('UTC', concat('+19:', id), ts) AS a FROM zones;
-- expect[ansi=true]: error INVALID_TIMEZONE
SELECT id, make_timestamp(2020, 1, 1, 1, 1, 1, substring('xyz', 1, id)) AS a FROM zones;
SELECT id, try_make_timestamp(2020, id % 14, 1, 1, 1, 1, concat('Etc/', zone)) AS a, make_timestamp(NULL, 1, 1, 1, 1, 1, 'Nowhere') AS b FROM zones;
