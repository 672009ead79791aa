-- Sums that overflow: bigint wraps or raises with ANSI; decimals give NULL or raise; averages have room of their own.
-- tables: wide_sums, numbers
-- floats: approximate
-- errors: exact

-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT k, sum(l) FROM wide_sums GROUP BY k;
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT sum(l) FROM wide_sums;
SELECT k, sum(l) FROM wide_sums WHERE k <> 1 GROUP BY k;
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT k, sum(n) FROM wide_sums GROUP BY k;
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT sum(n) FROM wide_sums WHERE k IN (0, 1);
SELECT k, sum(n), count(n), min(n), max(n) FROM wide_sums WHERE k IN (0, 3) GROUP BY k;
-- expect: any
SELECT k, sum(n) FROM wide_sums WHERE k = 3 GROUP BY k;
SELECT k, avg(n) FROM wide_sums WHERE k IN (0, 3) GROUP BY k;
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT avg(n) FROM wide_sums WHERE k = 1;
SELECT k, avg(l) FROM wide_sums GROUP BY k;
SELECT k, min(n), max(n), count(DISTINCT n) FROM wide_sums GROUP BY k;
-- expect[ansi=true]: error ARITHMETIC_OVERFLOW
SELECT sum(l) FROM numbers WHERE l > 0;
SELECT sum(i), sum(s), sum(t), avg(i), avg(l) FROM numbers;
SELECT try_sum(l) FROM wide_sums;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT k, sum(l / 0) FROM wide_sums WHERE k <> 1 GROUP BY k;
