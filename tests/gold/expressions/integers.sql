-- + − * / % on integers of every width: results, NULLs, and overflow (wraps, or ARITHMETIC_OVERFLOW with ANSI).
-- tables: tame, numbers

SELECT id, i + z, i - z, i * z FROM tame;
SELECT id, t + t, t - s, t * s, s + i, i + l, l - t FROM tame;
SELECT id, i + 1, 1 - i, l * 3, s + 1S, t - 1Y FROM tame;
SELECT id, i / 3, 7 / i, l / 7, t / 2, s / i FROM tame;
SELECT id, i % 7, i % -7, l % 10, t % 2Y, s % 3S, i % l FROM tame;
-- expect: any
SELECT id, -i, -l, -t, +s FROM tame;
-- expect: any
SELECT id, i div 3, l div -7 FROM tame;
-- errors: exact
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, i + 1 FROM numbers;
-- errors: exact
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, i - 2 FROM numbers;
-- errors: exact
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, i * i FROM numbers;
-- errors: exact
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, l + l FROM numbers;
-- errors: exact
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, l - 1 FROM numbers;
-- errors: exact
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, l * 3 FROM numbers;
-- errors: exact
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT id, l * -1 FROM numbers;
-- expect[ansi=true]: error BINARY_ARITHMETIC_OVERFLOW
SELECT id, t + t FROM numbers;
-- expect[ansi=true]: error BINARY_ARITHMETIC_OVERFLOW
SELECT id, t * t, t - 100Y FROM numbers;
-- expect[ansi=true]: error BINARY_ARITHMETIC_OVERFLOW
SELECT id, s + s FROM numbers;
-- expect[ansi=true]: error BINARY_ARITHMETIC_OVERFLOW
SELECT id, s * s FROM numbers;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, i / z FROM tame;
-- expect[ansi=true]: error REMAINDER_BY_ZERO
-- expect[ansi=true,spark=4.1]: error REMAINDER_BY_ZERO
SELECT id, i % z FROM tame;
-- The smallest number by minus one: % gives 0, never an overflow.
SELECT id, i % -1, l % -1 FROM numbers;
SELECT id, i / -1, l / -1 FROM numbers WHERE i IS NOT NULL;
SELECT id, l / 2, i / 7 FROM numbers;
SELECT id, i % 13, l % 1000000007, t % 7, s % -9 FROM numbers;
SELECT id, i + nothing, nothing * l, 5 % nothing FROM numbers;
SELECT id FROM tame WHERE i + z > 100 AND l * 2 < 20000000001;
