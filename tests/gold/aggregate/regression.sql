-- The regression family, and merges with empty partial results.
-- tables: tame, numbers, empty
-- matrix: ansi=true,false ; batch=7
-- floats: approximate

SELECT regr_count(i, id), regr_avgx(i, id), regr_avgy(i, id), regr_sxx(i, id), regr_syy(i, id), regr_sxy(i, id), regr_slope(i, id), regr_intercept(i, id), regr_r2(i, id) FROM tame;
SELECT k, regr_count(i, id), regr_avgx(i, id), regr_avgy(i, id), regr_sxx(i, id), regr_syy(i, id), regr_sxy(i, id), regr_slope(i, id), regr_intercept(i, id), regr_r2(i, id) FROM tame GROUP BY k;
SELECT regr_count(d, l), regr_avgx(d, l), regr_avgy(d, l), regr_sxx(d, l), regr_syy(d, l), regr_sxy(d, l), regr_slope(d, l), regr_intercept(d, l), regr_r2(d, l) FROM tame;
SELECT k, regr_count(d, l), regr_avgx(d, l), regr_avgy(d, l), regr_sxx(d, l), regr_syy(d, l), regr_sxy(d, l), regr_slope(d, l), regr_intercept(d, l), regr_r2(d, l) FROM tame GROUP BY k;
SELECT regr_count(f, d), regr_avgx(f, d), regr_avgy(f, d), regr_sxx(f, d), regr_syy(f, d), regr_sxy(f, d), regr_slope(f, d), regr_intercept(f, d), regr_r2(f, d) FROM tame;
SELECT k, regr_count(f, d), regr_avgx(f, d), regr_avgy(f, d), regr_sxx(f, d), regr_syy(f, d), regr_sxy(f, d), regr_slope(f, d), regr_intercept(f, d), regr_r2(f, d) FROM tame GROUP BY k;
SELECT regr_count(n9, i), regr_avgx(n9, i), regr_avgy(n9, i), regr_sxx(n9, i), regr_syy(n9, i), regr_sxy(n9, i), regr_slope(n9, i), regr_intercept(n9, i), regr_r2(n9, i) FROM tame;
SELECT k, regr_count(n9, i), regr_avgx(n9, i), regr_avgy(n9, i), regr_sxx(n9, i), regr_syy(n9, i), regr_sxy(n9, i), regr_slope(n9, i), regr_intercept(n9, i), regr_r2(n9, i) FROM tame GROUP BY k;
SELECT regr_count(t, s), regr_avgx(t, s), regr_avgy(t, s), regr_sxx(t, s), regr_syy(t, s), regr_sxy(t, s), regr_slope(t, s), regr_intercept(t, s), regr_r2(t, s) FROM tame;
-- In group z, s is constant: whether the merged deviation is exactly 0 depends on how the rows are split, in Spark too.
SELECT k, regr_count(t, s), regr_avgx(t, s), regr_avgy(t, s), regr_sxx(t, s), regr_syy(t, s), regr_sxy(t, s), regr_slope(t, s), regr_intercept(t, s), regr_r2(t, s) FROM tame WHERE NOT k <=> 'z' GROUP BY k;
SELECT regr_count(id, n38), regr_avgx(id, n38), regr_avgy(id, n38), regr_sxx(id, n38), regr_syy(id, n38), regr_sxy(id, n38), regr_slope(id, n38), regr_intercept(id, n38), regr_r2(id, n38) FROM tame;
SELECT k, regr_count(id, n38), regr_avgx(id, n38), regr_avgy(id, n38), regr_sxx(id, n38), regr_syy(id, n38), regr_sxy(id, n38), regr_slope(id, n38), regr_intercept(id, n38), regr_r2(id, n38) FROM tame GROUP BY k;
SELECT id, regr_count(i, l), regr_avgx(i, l), regr_avgy(i, l), regr_sxx(i, l), regr_syy(i, l), regr_sxy(i, l), regr_slope(i, l), regr_intercept(i, l), regr_r2(i, l) FROM tame GROUP BY id;
SELECT z, regr_count(id, id * id), regr_avgx(id, id * id), regr_avgy(id, id * id), regr_sxx(id, id * id), regr_syy(id, id * id), regr_sxy(id, id * id), regr_slope(id, id * id), regr_intercept(id, id * id), regr_r2(id, id * id), covar_pop(id * id, id), corr(id, id * id), var_pop(id) FROM tame GROUP BY z;
-- No deviation of x, of y, of both. Few rows: a merge with an empty state takes n * (1 / n), which is below 1 from 49 rows
-- on, in Spark too.
SELECT regr_sxy(i, 1), regr_slope(i, 1), regr_intercept(i, 1), regr_r2(i, 1), regr_sxy(1, i), regr_slope(1, i), regr_intercept(1, i), regr_r2(1, i), regr_sxy(1, 2), regr_slope(1, 2), regr_intercept(1, 2), regr_r2(1, 2) FROM tame WHERE id < 40;
SELECT k, regr_sxy(i, 1), regr_slope(i, 1), regr_intercept(i, 1), regr_r2(i, 1), regr_sxy(1, i), regr_slope(1, i), regr_intercept(1, i), regr_r2(1, i), regr_sxy(1, 2), regr_slope(1, 2), regr_intercept(1, 2), regr_r2(1, 2) FROM tame WHERE id < 40 GROUP BY k;
SELECT regr_count(d, d2), regr_avgx(d, d2), regr_avgy(d, d2), regr_sxx(d, d2), regr_syy(d, d2), regr_sxy(d, d2), regr_slope(d, d2), regr_intercept(d, d2), regr_r2(d, d2) FROM numbers;
SELECT b2, regr_count(d, d2), regr_avgx(d, d2), regr_avgy(d, d2), regr_sxx(d, d2), regr_syy(d, d2), regr_sxy(d, d2), regr_slope(d, d2), regr_intercept(d, d2), regr_r2(d, d2) FROM numbers GROUP BY b2;
SELECT i, regr_count(d, id), regr_avgx(d, id), regr_avgy(d, id), regr_sxx(d, id), regr_syy(d, id), regr_sxy(d, id), regr_slope(d, id), regr_intercept(d, id), regr_r2(d, id) FROM numbers GROUP BY i;
SELECT i, regr_count(id, f), regr_avgx(id, f), regr_avgy(id, f), regr_sxx(id, f), regr_syy(id, f), regr_sxy(id, f), regr_slope(id, f), regr_intercept(id, f), regr_r2(id, f) FROM numbers GROUP BY i;
-- Squares that underflow, and that overflow.
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT regr_r2(id * 1e-120D, id * 1e-120D) FROM tame WHERE id < 5;
SELECT regr_slope(id * 1e-120D, id * 1e-120D), regr_intercept(id * 1e-120D, id * 1e-120D), regr_sxy(id * 1e-120D, id) FROM tame WHERE id < 5;
SELECT regr_sxy(id * 1e200D, id * 1e200D), regr_slope(id * 1e200D, id * 1e200D), regr_r2(id * 1e200D, id * 1e200D), var_pop(id * 1e200D), covar_pop(id * 1e200D, id * 1e200D), corr(id, id * 1e200D) FROM tame;
SELECT k, regr_sxy(id * 1e200D, id), regr_slope(id * 1e200D, id), regr_r2(id * 1e200D, id), regr_sxy(id, id * 1e200D), regr_slope(id, id * 1e200D), regr_r2(id, id * 1e200D) FROM tame GROUP BY k;
-- One value: partial results merge with an empty state.
SELECT var_pop(1e200D), var_pop(d), skewness(1e200D), covar_pop(1e200D, 1e200D), regr_sxy(1e200D, 1e200D), regr_sxx(1e200D, 1e200D) FROM tame WHERE id = 0;
SELECT id, var_pop(d * 1e200D), kurtosis(d * 1e200D), corr(d * 1e200D, id), regr_intercept(d * 1e200D, id) FROM tame GROUP BY id;
SELECT k, regr_slope(i, id) FILTER (WHERE id % 2 = 0), regr_r2(i, id) FILTER (WHERE id < 0), regr_sxy(i, id) FILTER (WHERE b) FROM tame GROUP BY k;
SELECT k, regr_slope(DISTINCT i, id), regr_sxy(DISTINCT i, id), count(DISTINCT z) FROM tame GROUP BY k;
SELECT regr_count(i, id), regr_avgx(i, id), regr_avgy(i, id), regr_sxx(i, id), regr_syy(i, id), regr_sxy(i, id), regr_slope(i, id), regr_intercept(i, id), regr_r2(i, id) FROM tame WHERE id < 0;
SELECT z, regr_count(i, id), regr_avgx(i, id), regr_avgy(i, id), regr_sxx(i, id), regr_syy(i, id), regr_sxy(i, id), regr_slope(i, id), regr_intercept(i, id), regr_r2(i, id) FROM tame WHERE id < 0 GROUP BY z;
SELECT regr_count(n, d), regr_avgx(n, d), regr_avgy(n, d), regr_sxx(n, d), regr_syy(n, d), regr_sxy(n, d), regr_slope(n, d), regr_intercept(n, d), regr_r2(n, d) FROM empty;
SELECT regr_slope(nothing, id), regr_intercept(id, nothing), regr_r2(nothing, nothing), regr_sxy(NULL, id) FROM numbers;
SELECT k, z, regr_slope(i, id), regr_intercept(l, id) FROM tame GROUP BY ROLLUP (k, z);
-- A partial and a final aggregation without an exchange between them.
SELECT k, var_pop(x), covar_pop(x, x), corr(x, x), regr_slope(x, x), kurtosis(x), avg(x) FROM (SELECT /*+ REPARTITION(2, k) */ id % 5 AS k, id * 1e200D AS x FROM range(1, 6)) GROUP BY k;
SELECT k, var_pop(x), covar_pop(x, x), regr_slope(x, x), regr_intercept(x, k), sum(x) FROM (SELECT /*+ REPARTITION(2, k) */ id % 5 AS k, id * 1.1D AS x FROM range(1, 100)) GROUP BY k;
