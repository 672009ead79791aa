-- Casts among numbers and decimals: widening, narrowing (wraps, or CAST_OVERFLOW with ANSI), rounding, NaN to integer.
-- tables: tame, numbers

SELECT id, CAST(t AS SMALLINT), CAST(t AS INT), CAST(s AS BIGINT), CAST(i AS DOUBLE), CAST(l AS DOUBLE), CAST(i AS FLOAT) FROM numbers;
SELECT id, CAST(f AS DOUBLE), CAST(d AS FLOAT), CAST(l AS FLOAT) FROM numbers;
SELECT id, CAST(i AS DECIMAL(10,0)), CAST(l AS DECIMAL(20,0)), CAST(t AS DECIMAL(5,2)), CAST(s AS DECIMAL(38,30)) FROM numbers;
SELECT id, CAST(n9 AS DOUBLE), CAST(n18 AS DOUBLE), CAST(n38 AS DOUBLE), CAST(n9 AS FLOAT), CAST(n380 AS FLOAT) FROM numbers;
SELECT id, CAST(n9 AS DECIMAL(10,1)), CAST(n9 AS DECIMAL(12,4)), CAST(n18 AS DECIMAL(18,2)), CAST(n9 AS DECIMAL(8,0)) FROM numbers;
SELECT id, CAST(n9 AS INT), CAST(n9 AS BIGINT), CAST(n18 AS BIGINT) FROM numbers;
SELECT id, CAST(d AS INT), CAST(d AS BIGINT), CAST(f AS SMALLINT), CAST(d AS TINYINT) FROM tame WHERE d < 100;
SELECT id, CAST(d AS DECIMAL(15,3)), CAST(f AS DECIMAL(10,1)), CAST(d AS DECIMAL(14,5)) FROM tame WHERE d < 100;
SELECT id, CAST(d AS DECIMAL(20,3)), CAST(d AS DECIMAL(38,18)) FROM tame;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(l AS INT) FROM numbers;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(i AS SMALLINT) FROM numbers;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(i AS TINYINT), CAST(s AS TINYINT) FROM numbers;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(d AS INT) FROM numbers;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(d AS BIGINT) FROM numbers;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(f AS TINYINT), CAST(f AS SMALLINT), CAST(f AS INT), CAST(f AS BIGINT) FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, CAST(n9 AS DECIMAL(5,2)) FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, CAST(i AS DECIMAL(5,0)), CAST(l AS DECIMAL(10,2)) FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, CAST(d AS DECIMAL(10,2)) FROM numbers;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(n380 AS BIGINT) FROM numbers;
-- expect[ansi=true]: error CAST_OVERFLOW
SELECT id, CAST(n9 AS SMALLINT), CAST(n18 AS INT), CAST(n9 AS TINYINT) FROM numbers;
SELECT id FROM numbers WHERE CAST(n9 AS DOUBLE) > 0.05 AND CAST(t AS INT) < 100;
-- expect: any
SELECT id, CAST(b AS INT), CAST(i AS BOOLEAN), CAST(d AS BOOLEAN), CAST(n9 AS BOOLEAN), CAST(b AS DECIMAL(3,1)) FROM numbers;
-- expect: any
SELECT id, CAST(i AS STRING), CAST(n9 AS STRING), CAST(b AS STRING), CAST(l AS STRING) FROM numbers;
-- expect: any
SELECT id, try_cast(l AS INT), try_cast(n9 AS DECIMAL(5,2)), try_cast(d AS INT) FROM numbers;
