-- Functions of doubles with the bits of StrictMath: inverse trigonometric, hyperbolic, roots, expm1 and log1p; constants.
-- tables: numbers, tame
-- matrix: ansi=true,false

SELECT id, asin(d) AS a, acos(d) AS b, atan(d) AS c, asin(f) AS e, acos(i) AS g, atan(l) AS h FROM numbers;
SELECT id, asin((id - 165) / 164.0D) AS a, acos((id - 165) / 164.0D) AS b, atan((id - 165) / 31.0D) AS c FROM numbers;
SELECT id, atan2(d, d2) AS a, atan2(d2, d) AS b, atan2(d, -0.0D) AS c, atan2(-0.0D, d) AS e, atan2(id, d) AS g, atan2(d, 1D) AS h FROM numbers;
SELECT id, atan2(id - 165, 165 - id * 3) AS a, atan2(id * 1e-300D, -id * 1e10D) AS b FROM numbers;
SELECT id, hypot(d, d2) AS a, hypot(d, 0D) AS b, hypot(id, id + 1) AS c, hypot(id * 1e-310D, 3e-310D) AS e, hypot(id * 1e305D, 1e307D) AS g FROM numbers;
SELECT id, sinh(d) AS a, cosh(d) AS b, sinh(id / 7.0D - 23) AS c, cosh(id / 7.0D - 23) AS e, sinh(id + 550.5D) AS g, cosh(-550.5D - id) AS h FROM numbers;
-- Java computes these by code of its own in later releases.
-- expect[java=24]: partly tanh
-- expect[java=25]: partly tanh
SELECT id, tanh(d) AS a, tanh(id / 7.0D - 23) AS b, tanh(d2 * 1e-20D) AS c FROM numbers;
-- expect[java=25]: partly cbrt
SELECT id, cbrt(d) AS a, cbrt(id - 165) AS b, cbrt(id * 1e-310D) AS c, cbrt(xxhash64(id) * 1e-30D) AS e FROM numbers;
SELECT id, expm1(d) AS a, expm1(id / 7.0D - 23) AS b, expm1(id * 3.0D - 300) AS c, expm1(d2 * 1e-17D) AS e FROM numbers;
SELECT id, log1p(d) AS a, log1p(id / 100.0D - 1.01D) AS b, log1p(id * 1e14D) AS c, log1p(d2 * 1e-17D) AS e, log1p(CAST(NULL AS DOUBLE)) AS g FROM numbers;
SELECT id, asinh(d) AS a, asinh(id / 7.0D - 23) AS b, asinh(id * 1e152D) AS c, asinh(d2 * 1e-9D) AS e, asinh(-id * 1e8D) AS g FROM numbers;
SELECT id, acosh(d) AS a, acosh(1 + id / 100.0D) AS b, acosh(id * 1e152D) AS c, acosh(1 + id * 1e-16D) AS e, acosh(id * 1e7D) AS g FROM numbers;
SELECT id, atanh(d) AS a, atanh((id - 165) / 164.0D) AS b, atanh(d2 * 1e-9D) AS c FROM numbers;
SELECT id, pi() * d AS a, e() AS b, degrees(atan2(d, pi())) AS c FROM tame;
-- set: spark.sql.optimizer.excludedRules=org.apache.spark.sql.catalyst.optimizer.ConstantFolding,org.apache.spark.sql.catalyst.optimizer.FoldablePropagation
SELECT id, pi() AS a, e() * d AS b FROM tame;
SELECT atan(d) AS k, count(*) AS n, sum(asinh(d2)) IS NULL AS m FROM numbers GROUP BY 1;
SELECT id FROM numbers WHERE asin(d) IS NOT NULL AND log1p(d) IS NULL AND hypot(d, d2) >= 0;
SELECT id, asin(d) AS a, hypot(d, d2) AS b, log1p(d) AS c, atan2(d, d) AS e FROM numbers WHERE id < 0;
