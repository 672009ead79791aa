-- WHERE: three-valued logic, every comparison on every type, NULL never passes.
-- tables: numbers, texts, times
-- matrix: ansi=true ; tz=Asia/Kathmandu

SELECT id FROM numbers WHERE b;
SELECT id FROM numbers WHERE NOT b;
SELECT id FROM numbers WHERE b AND b2;
SELECT id FROM numbers WHERE b OR b2;
SELECT id FROM numbers WHERE NOT (b AND b2) OR i IS NULL;
SELECT id FROM numbers WHERE b = b2;
SELECT id FROM numbers WHERE b <=> b2;
SELECT id FROM numbers WHERE b < b2;
SELECT id FROM numbers WHERE i > 0 AND l < 100 AND d IS NOT NULL;
SELECT id FROM numbers WHERE i = l;
SELECT id FROM numbers WHERE t < s;
SELECT id FROM numbers WHERE f = d;
-- Spark's own row-group filter takes statistics that leave NaN out (as the Parquet specification has it) for limits.
-- oracle: spark.sql.parquet.filterPushdown=false
SELECT id FROM numbers WHERE d = double('NaN');
SELECT id FROM numbers WHERE d > d2;
-- oracle: spark.sql.parquet.filterPushdown=false
SELECT id FROM numbers WHERE d >= double('NaN');
SELECT id FROM numbers WHERE d <> d2;
SELECT id FROM numbers WHERE d <=> d2;
SELECT id FROM numbers WHERE d < double('Infinity');
SELECT id FROM numbers WHERE d = 0;
SELECT id FROM numbers WHERE n9 > n18;
SELECT id FROM numbers WHERE n18 <= n38;
SELECT id FROM numbers WHERE n38 = n380;
SELECT id FROM numbers WHERE n9 = 1;
SELECT id FROM numbers WHERE n9 >= 0.055;
SELECT id FROM numbers WHERE n380 > 1.5D;
SELECT id FROM numbers WHERE nothing IS NULL AND nothing = 1;
SELECT id FROM numbers WHERE nothing IS NULL;
SELECT id FROM texts WHERE s < s2;
SELECT id FROM texts WHERE s = s2;
SELECT id FROM texts WHERE s <=> s2;
SELECT id FROM texts WHERE s >= 'a' AND s < 'b';
SELECT id FROM texts WHERE flag = 'R';
SELECT id FROM texts WHERE flag <> 'R';
SELECT id FROM texts WHERE flag IS NULL OR flag = 'A';
SELECT id FROM texts WHERE bin > X'61';
SELECT id FROM texts WHERE bin = X'';
SELECT id FROM times WHERE d < d2;
SELECT id FROM times WHERE d >= DATE'1970-01-01';
SELECT id FROM times WHERE d BETWEEN DATE'1582-10-04' AND DATE'1582-10-15';
SELECT id FROM times WHERE ts < ts2;
SELECT id FROM times WHERE ts = TIMESTAMP'1986-01-01 00:15:00';
SELECT id FROM times WHERE ntz > TIMESTAMP_NTZ'2000-01-01 00:00:00';
SELECT id FROM numbers WHERE true;
SELECT id FROM numbers WHERE i > 5 AND i < 3;
SELECT id FROM numbers WHERE l BETWEEN -42 AND 42;
SELECT id FROM numbers WHERE l NOT BETWEEN i AND 100;
