-- Doubles and floats by the digits that Java prints: text, rounding, decimals.
-- tables: numbers, tame
-- matrix: ansi=true,false

SELECT id, CAST(d AS STRING) AS a, CAST(f AS STRING) AS b, CAST(d2 AS STRING) AS c FROM numbers;
SELECT id, CAST(d AS STRING) AS a, CAST(f AS STRING) AS b, concat(d, ' ', f) AS c, d || '' AS e FROM tame;
SELECT id, CAST(id / 7.0D AS STRING) AS a, CAST(CAST(id / 7.0D AS FLOAT) AS STRING) AS b, CAST(id * 1e-3D AS STRING) AS c, CAST(id * 1e5D AS STRING) AS d FROM numbers;
SELECT id, CAST(xxhash64(id) / CAST(xxhash64(id, 1) AS DOUBLE) AS STRING) AS a, CAST(xxhash64(id) * 1e-30D AS STRING) AS b, CAST(xxhash64(id) * 1e-200D AS STRING) AS c, CAST(xxhash64(id) * 1e200D AS STRING) AS d FROM numbers;
SELECT id, CAST(CAST(xxhash64(id) AS FLOAT) AS STRING) AS a, CAST(CAST(xxhash64(id) * 1e-30D AS FLOAT) AS STRING) AS b, CAST(CAST(xxhash64(id) * 1e-57D AS FLOAT) AS STRING) AS c FROM numbers;
SELECT id, CAST(pmod(xxhash64(id), 1000) * 5e-324D AS STRING) AS a, CAST(CAST(pmod(xxhash64(id), 1000) AS FLOAT) * CAST(1.4e-45D AS FLOAT) AS STRING) AS b FROM numbers;
SELECT CAST(d AS STRING) AS k, count(*) FROM numbers GROUP BY 1;
SELECT id FROM numbers WHERE CAST(d AS STRING) LIKE '%E%' OR CAST(f AS STRING) = '1.5';
SELECT id, round(d) AS a, round(d, 1) AS b, round(d, 2) AS c, round(d, 15) AS e, round(d, 22) AS f, round(d, -1) AS g, round(d, -20) AS h FROM numbers;
SELECT id, bround(d) AS a, bround(d, 1) AS b, bround(d, 2) AS c, bround(d, -1) AS e FROM numbers;
SELECT id, round(d, 2) AS a, bround(d, 2) AS b, round(d * 100, -2) AS c, round(-d / 3, 3) AS e FROM tame;
SELECT id, round((id - 50) / 8.0D, 2) AS a, bround((id - 50) / 8.0D, 2) AS b, round((id - 50) * 0.05D, 1) AS c, round((id - 50) / 1000.0D, 2) AS d, round((id - 50) + 0.5D) AS e FROM numbers;
SELECT id, round(xxhash64(id) / CAST(xxhash64(id, 1) AS DOUBLE), 4) AS a, round(xxhash64(id) * 1.0D, -3) AS b, round(xxhash64(id) * 1e-30D, 20) AS c FROM numbers;
SELECT round(avg(d), 2) AS a, round(sum(d) / count(*), 1) AS b FROM tame;
SELECT id, try_cast(d AS DECIMAL(18, 2)) AS a, try_cast(d AS DECIMAL(18, 10)) AS b, try_cast(f AS DECIMAL(18, 4)) AS c, try_cast(d AS DECIMAL(5, 2)) AS e FROM numbers;
SELECT id, CAST(d AS DECIMAL(18, 2)) AS a, CAST(f AS DECIMAL(16, 3)) AS b FROM tame;
SELECT id, try_cast(xxhash64(id) / 10.0D AS DECIMAL(18, 0)) AS a, try_cast(xxhash64(id) * 1e-12D AS DECIMAL(18, 11)) AS b, try_cast(xxhash64(id) / 1e5D AS DECIMAL(17, 3)) AS c FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, CAST(xxhash64(id) * 1.0D AS DECIMAL(18, 0)) AS a FROM numbers;
-- expect[ansi=true]: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, CAST(d AS DECIMAL(18, 6)) AS a FROM numbers WHERE id < 20;
SELECT id, CAST(d AS STRING) AS a, round(d, 2) AS b FROM numbers WHERE id < 0;
