-- OR, AND and IN of one column's comparisons: without gaps one range, with gaps none; beside conditions on strings.
-- tables: numbers, texts, times
-- matrix: ansi=true,false ; tz=UTC,Asia/Kathmandu

SELECT id FROM numbers WHERE i >= -1 AND i <= 1 OR i >= 1 AND i <= 65536;
SELECT id FROM numbers WHERE i < 0 OR i > 1;
SELECT id FROM numbers WHERE i < 0 OR i >= 0;
SELECT id FROM numbers WHERE i IN (-1, 0, 1);
SELECT id FROM numbers WHERE i IN (0, 2);
SELECT id FROM numbers WHERE i < 5 AND (i = 0 OR i = 1 OR i = -1 OR i IS NULL);
SELECT id FROM numbers WHERE l BETWEEN -9223372036854775808 AND 0 OR l BETWEEN 1 AND 9223372036854775807;
SELECT id FROM numbers WHERE l < 0 OR i < 0;
SELECT id FROM numbers WHERE n9 BETWEEN -1 AND 0.05 OR n9 BETWEEN 0.06 AND 12.34;
SELECT id FROM numbers WHERE n38 BETWEEN -4 AND 0 OR n38 BETWEEN 0 AND 1;
SELECT id, d FROM times WHERE d < DATE'1582-10-15' OR d BETWEEN DATE'1582-10-15' AND DATE'2000-02-29';
SELECT id FROM times WHERE ts < TIMESTAMP'1970-01-01 00:00:00' OR ts >= TIMESTAMP'1970-01-01 00:00:00';
SELECT id FROM texts WHERE flag IN ('R', 'A') AND flag LIKE 'R%';
SELECT id FROM texts WHERE flag IS NULL OR flag = 'N';
SELECT id FROM texts WHERE s LIKE '%a%' AND flag <> 'R' AND length(flag) = 1;
SELECT id, flag FROM texts WHERE id < 40 AND flag IN ('R', 'N') AND s IS NOT NULL;
SELECT count(*) FROM texts WHERE (id < 10 OR id BETWEEN 5 AND 60) AND flag = 'A';
