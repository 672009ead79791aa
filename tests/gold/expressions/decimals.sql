-- Decimal arithmetic: Spark's precision and scale of every result, rounding HALF_UP, loss of precision at 38 digits.
-- tables: tame, numbers

SELECT id, n9 + n9, n9 - n18, n18 + n38, n15 + i FROM tame;
SELECT id, n9 * n9, n15 * n18, n18 * n18, n9 * i, n15 * 2 FROM tame;
SELECT id, n15 * (1 - n9), n15 * (1 - n9) * (1 + n9) FROM tame;
SELECT id, n9 / 3, n15 / 7.00, n18 / CAST(0.3 AS DECIMAL(3,1)), n9 / n15 FROM tame;
SELECT id, n9 % 2, n15 % 0.7, n18 % n9, i % n9 FROM tame;
SELECT id, n38 + n38, n38 - 1, n38 * 2, n38 / 3, n38 % 2 FROM tame;
SELECT id, n38 * n18, n38 * n38, n38 / n38 FROM tame;
SELECT id, n9 + t, n9 * s, l + n9, n15 + 1.5D, n9 * f FROM tame;
SELECT id, n9 + n9, n9 * n9, n9 - n18, n18 * n9, n18 + n18 FROM numbers;
SELECT id, n9 / 3, n18 / 7, n9 / CAST(9999999.99 AS DECIMAL(9,2)) FROM numbers;
SELECT id, n9 % 7, n18 % 0.0003 FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, n380 + n380 FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, n380 * n380 FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, n38 * n38 FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, n38 + n380 FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, n380 / 0.0001 FROM numbers;
SELECT id, n38 + n38, n38 - n38 FROM numbers WHERE n38 < 10000000000000000000000000000 AND n38 > -10;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, n9 / n18 FROM numbers;
-- expect[ansi=true]: error REMAINDER_BY_ZERO
SELECT id, n9 % n18 FROM numbers;
-- Without loss of precision Spark keeps the scale and overflows earlier.
-- set: spark.sql.decimalOperations.allowPrecisionLoss=false
SELECT id, n9 * n9, n15 / 3, n9 / n15 FROM tame;
-- expect: any
-- set: spark.sql.decimalOperations.allowPrecisionLoss=false
SELECT id, n18 / n15, n18 * n18 FROM tame;
SELECT id, n9 = n18, n9 < n38, n18 <=> n9, n38 >= n380, n9 <> 1 FROM numbers;
-- expect: any
SELECT id, -n9, -n18 FROM numbers;
-- expect: any
SELECT id, -n38, -n380 FROM numbers WHERE n38 BETWEEN -1000 AND 1000 AND n380 BETWEEN -1000 AND 1000;
SELECT id, 1.1 + n9, 0.05 * n15, 12345678901234567890.5 + n18 FROM tame;
