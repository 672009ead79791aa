-- floor, ceil, round, bround and functions of doubles with one exact result.
-- tables: numbers, tame
-- matrix: ansi=true,false

-- expect[ansi=true,spark=4.3]: error ARITHMETIC_OVERFLOW
SELECT id, floor(d) AS a, ceil(d) AS b, floor(f) AS c, ceil(f) AS e, floor(l) AS g, ceil(i) AS h FROM numbers;
SELECT id, floor(d) AS a, ceil(d) AS b, floor(f) AS c, ceil(f) AS e FROM numbers WHERE abs(d) < 9e18 AND abs(f) < 9e18;
SELECT id, floor(d) AS a FROM numbers WHERE isnan(d);
-- expect[ansi=true,spark=4.3]: error ARITHMETIC_OVERFLOW
SELECT id, ceil(d) AS a FROM numbers WHERE d > 9e18 AND NOT isnan(d);
SELECT id, floor(n9) AS a, ceil(n9) AS b, floor(n18) AS c, ceil(n18) AS d, floor(n38) AS e, ceil(n38) AS f, floor(n380) AS g, ceil(n380) AS h FROM numbers;
SELECT id, round(n9) AS a, round(n9, 1) AS b, round(n9, 2) AS c, round(n9, 5) AS d, round(n9, -1) AS e, round(n9, -3) AS f, round(n9, -20) AS g, round(n18, 2) AS h FROM numbers;
SELECT id, bround(n9) AS a, bround(n9, 1) AS b, bround(n18, 3) AS c, bround(n9, -2) AS d, bround(n18, -14) AS e FROM numbers;
SELECT id, floor(n9, 1) AS a, ceil(n9, 1) AS b, floor(n18, -2) AS c, ceil(n18, -2) AS d, ceil(n9, 5) AS e, floor(n9, 0) AS f FROM numbers;
SELECT id, round(n38, 3) AS a, round(n38, 8) AS b FROM numbers;
SELECT id, round(i, 2) AS a, round(l) AS b, bround(t, 3) AS c FROM numbers;
-- expect: any
SELECT id, round(i, -2) AS a, round(f) AS c FROM tame;
SELECT id, rint(d) AS a, sign(d) AS b, signum(f) AS c, sqrt(d) AS e, sqrt(i) AS g, degrees(d) AS h, radians(d) AS j FROM numbers;
SELECT id, factorial(id - 3) AS a, factorial(t) AS b FROM numbers;
SELECT floor(d) AS k, count(*) FROM numbers WHERE abs(d) < 9e18 GROUP BY 1;
SELECT id FROM numbers WHERE abs(d) < 9e18 AND (round(n9, 1) = 0.1 OR floor(d) = 0);
SELECT id, round(n9, 1) AS a, floor(d) AS b, sqrt(d) AS c FROM numbers WHERE id < 0;
SELECT id, exp(d) AS a, ln(d) AS b, log10(d) AS c, log2(d) AS e, log(d, d2) AS f, pow(d, d2) AS g, power(d, 2) AS h FROM numbers;
SELECT id, exp(id / 7.0D - 20) AS a, exp(id * 5.0D - 400) AS b, ln(id / 7.0D) AS c, log10(id * 1000) AS e, log2(id * 1e-310D) AS f, log(3, id) AS g FROM numbers;
SELECT id, pow(id / 7.0D, d) AS a, pow(1 + id * 1e-12D, 1e9D * id) AS b, pow(-id, id % 5) AS c, pow(id, -0.5D) AS e, pow(0.5D, id * 11) AS f, pow(-0.0D, id - 3) AS g FROM numbers;
SELECT id, exp(d) AS a, ln(abs(d)) AS b, pow(abs(d), 0.3D) AS c FROM tame;
SELECT id, round(n38, 10) AS a, round(n38, 12) AS b, round(n38, 3) AS c, bround(n38, 9) AS e, floor(n38, 10) AS f, ceil(n38, 0) AS g, round(n380, 0) AS h, round(n380, 5) AS i FROM numbers;
