-- try_sum and try_avg: NULL on overflow, with and without ANSI mode.
-- tables: wide_sums, numbers, tame, keys, empty
-- matrix: ansi=true,false ; batch=7
-- floats: approximate
-- errors: exact

SELECT try_sum(l), try_avg(l), try_sum(n), count(l) FROM wide_sums;
SELECT k, try_sum(l), try_avg(l) FROM wide_sums GROUP BY k;
-- An average that keeps too many digits for its type is NULL, and so is a sum.
SELECT k, try_sum(n), try_avg(n), count(n), sum(k) FROM wide_sums WHERE k IN (0, 1, 3) GROUP BY k;
SELECT try_avg(n) FROM wide_sums WHERE k = 1;
SELECT try_avg(n), try_sum(n) FROM wide_sums WHERE k = 0;
SELECT try_sum(l), try_sum(l - 1), try_sum(-l) FROM numbers WHERE l > 0;
SELECT try_sum(t), try_sum(s), try_sum(i), try_sum(nothing), try_avg(t), try_avg(i), try_avg(nothing) FROM numbers;
SELECT try_sum(n9), try_sum(n18), try_avg(n9), try_avg(n18), try_sum(CAST(n9 AS DECIMAL(30,2))) FROM numbers;
SELECT try_sum(n38), try_sum(n380), try_avg(n38), try_avg(n380) FROM numbers WHERE n38 > 0 OR n380 > 0;
SELECT b2, try_sum(n38), try_avg(n18), try_sum(n9), try_avg(n9) FROM numbers WHERE n38 BETWEEN -1000000 AND 1000000 GROUP BY b2;
SELECT try_sum(d), try_sum(f), try_avg(d), try_avg(f) FROM tame;
SELECT k, try_sum(d), try_avg(d), try_sum(f), try_avg(f) FROM tame GROUP BY k;
SELECT k, try_sum(i), try_avg(i), sum(i), avg(i), try_sum(l), try_sum(n38), try_avg(n38) FROM tame GROUP BY k;
SELECT id, try_sum(l), try_avg(l), try_sum(n380), try_avg(n38) FROM numbers GROUP BY id;
SELECT b, try_sum(l + 0), try_sum(l), try_avg(l) FROM numbers WHERE l BETWEEN -1000 AND 1000 GROUP BY b;
SELECT k, try_sum(l) FILTER (WHERE k <> 1), try_sum(n) FILTER (WHERE k = 0), try_avg(l) FILTER (WHERE k < 0) FROM wide_sums GROUP BY k;
SELECT k, try_sum(DISTINCT l), try_avg(DISTINCT i), try_sum(i), count(DISTINCT z) FROM tame GROUP BY k;
SELECT try_sum(DISTINCT l), try_sum(DISTINCT k) FROM wide_sums;
SELECT try_sum(i), try_avg(i), try_sum(n38), try_avg(n38), try_sum(d) FROM tame WHERE id < 0;
SELECT z, try_sum(i), try_avg(n38) FROM tame WHERE id < 0 GROUP BY z;
SELECT try_sum(id), try_avg(n), try_sum(n), try_sum(d) FROM empty;
SELECT str, try_sum(i), try_avg(t), try_sum(s) FROM keys GROUP BY str;
SELECT k, z, try_sum(l) FROM tame GROUP BY ROLLUP (k, z);
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT k, try_sum(l / 0) FROM wide_sums WHERE k <> 1 GROUP BY k;
SELECT k, coalesce(try_sum(l), -1), try_sum(l) IS NULL FROM wide_sums GROUP BY k HAVING try_avg(l) IS NOT NULL;
