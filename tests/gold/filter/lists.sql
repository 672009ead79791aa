-- IN with short and long lists (Spark switches to a set above ten), NULL in the list, NOT IN, mixed types.
-- tables: numbers, texts, times, clocks
-- matrix: ansi=true

SELECT id FROM numbers WHERE i IN (1, -1, 65536);
SELECT id FROM numbers WHERE i IN (1, -1, NULL);
SELECT id FROM numbers WHERE i NOT IN (1, -1);
-- Never true: Spark reads nothing.
-- expect: any
SELECT id FROM numbers WHERE i NOT IN (1, -1, NULL);
SELECT id, i IN (1, NULL) AS x, i NOT IN (0, 1) AS y, i IN (1) AS z FROM numbers;
SELECT id FROM numbers WHERE i IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 65536);
SELECT id, i IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, NULL) AS x FROM numbers;
SELECT id FROM numbers WHERE t IN (1, 100, -128);
SELECT id FROM numbers WHERE l IN (1, 9223372036854775807, i);
SELECT id FROM numbers WHERE d IN (double('NaN'), 0.0D, 1.5D);
SELECT id FROM numbers WHERE f IN (float('NaN'), -0.0F);
-- expect: any
SELECT id FROM numbers WHERE d IN (double('NaN'), 0.0D, 1D, 2D, 3D, 4D, 5D, 6D, 7D, 8D, 9D, 10D);
SELECT id FROM numbers WHERE n9 IN (1, 0.05, 12.34);
SELECT id FROM numbers WHERE n38 IN (1, 0.0000000001, -3.1415926536);
SELECT id FROM texts WHERE s IN ('a', 'é', '', '日本語', 'nope');
SELECT id FROM texts WHERE s IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', '😀', 'A');
SELECT id FROM texts WHERE flag NOT IN ('R', 'A');
SELECT id, flag IN ('R', 'N') AS x FROM texts;
SELECT id FROM texts WHERE bin IN (X'61', X'');
SELECT id FROM times WHERE d IN (DATE'2000-02-29', DATE'0001-01-01');
SELECT id FROM times WHERE ts IN (TIMESTAMP'1970-01-01 00:00:00', TIMESTAMP'9999-12-30 23:59:59.999999');
SELECT id FROM numbers WHERE b IN (true);
SELECT id FROM numbers WHERE b IN (true, NULL);
SELECT id FROM clocks WHERE t IN (TIME'00:00:00', TIME'00:00:00.000001', TIME'12:34:56.7', NULL);
SELECT id FROM clocks WHERE t NOT IN (TIME'00:00:00', TIME'01:00:00', TIME'02:00:00', TIME'03:00:00', TIME'04:00:00', TIME'05:00:00', TIME'06:00:00', TIME'07:00:00', TIME'08:00:00', TIME'09:00:00', TIME'12:00:00', TIME'00:01:00');
