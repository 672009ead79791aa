-- + − * / % on float and double: NaN, infinities, ±0, denormals; division by zero follows ANSI.
-- tables: tame, numbers

SELECT id, f + f, d - d2, f * d, d + i, d * d2 FROM numbers;
SELECT id, d + 1, 1 - d, d * -0.0D, f * 0 FROM numbers;
SELECT id, d / 3, d / -2.5D, f / CAST(3 AS FLOAT), d / 1e-300D FROM numbers;
SELECT id, d % 3, d % -0.7D, f % CAST(2 AS FLOAT), 5.5D % 2D FROM numbers;
SELECT id, d % 1e308D, d / double('Infinity'), d % double('Infinity') FROM numbers;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, d / d2 FROM numbers;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, f / CAST(0 AS FLOAT) FROM numbers;
-- expect[ansi=true]: error REMAINDER_BY_ZERO
SELECT id, d % d2 FROM numbers;
-- expect: any
SELECT id, -d, -f FROM numbers;
SELECT id, d = d2, d < d2, d <= d2, d > d2, d >= d2, d <=> d2 FROM numbers;
SELECT id, f = d, f < d, f <=> CAST(d AS FLOAT) FROM numbers;
SELECT id, d = 0, d = -0.0D, d <=> 0.0D, f = CAST('NaN' AS FLOAT) FROM numbers;
SELECT id, f / CAST(0.1 AS FLOAT), f * f, f - f FROM tame;
SELECT id, d + f, d / f, l * d, i / d FROM tame WHERE d <> 0;
