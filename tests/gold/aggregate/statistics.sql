-- Variance, standard deviation, skewness, kurtosis, covariance, correlation, regression.
-- tables: tame, numbers, keys, empty
-- matrix: ansi=true,false ; batch=7
-- floats: approximate

SELECT stddev(i), stddev_pop(i), stddev_samp(l), variance(n9), var_pop(t), var_samp(i) FROM tame;
SELECT k, stddev(i), std(l), stddev_pop(i), var_pop(n18), variance(i), count(i), avg(i) FROM tame GROUP BY k;
SELECT k, stddev(d), var_pop(f) FROM tame GROUP BY k;
SELECT k, covar_pop(i, id), covar_samp(id, i), regr_count(i, id), regr_sxx(i, id), regr_syy(i, id) FROM tame GROUP BY k;
SELECT k, corr(id, id * 2), covar_pop(id, 3) FROM tame GROUP BY k HAVING count(DISTINCT id) > 1;
SELECT covar_pop(i, id), covar_samp(id, i), corr(i, id) FROM tame;
SELECT k, skewness(id * id), kurtosis(id * id), kurtosis(i) FROM tame GROUP BY k;
SELECT skewness(id * id), kurtosis(id), skewness(i), kurtosis(i) FROM tame;
SELECT id, stddev(i), stddev_pop(i), var_samp(i), skewness(i), kurtosis(i), covar_samp(i, l), covar_pop(i, l), corr(i, l) FROM tame GROUP BY id;
SELECT stddev(i), var_pop(i), skewness(i), kurtosis(i), corr(i, l), covar_samp(i, l) FROM tame WHERE id < 0;
SELECT k, stddev(i) FILTER (WHERE id % 2 = 0), stddev(DISTINCT i), count(DISTINCT z) FROM tame GROUP BY k;
-- expect[ansi=true,spark=4.1]: error DIVIDE_BY_ZERO
SELECT corr(id, 1) FROM tame;
-- expect[ansi=true,spark=4.1]: error DIVIDE_BY_ZERO
SELECT k, corr(id, 1) FROM tame GROUP BY k;
SELECT stddev(d), var_pop(d), skewness(d), kurtosis(d), corr(d, id) FROM numbers;
SELECT kurtosis(CASE WHEN id % 2 = 0 THEN 1e-200D ELSE 2e-200D END) FROM tame;
SELECT k, stddev(i) * 2 > 3, var_pop(i) + 1 FROM tame GROUP BY ROLLUP (k);
SELECT corr(CASE WHEN id = 3 THEN double('inf') ELSE id END, 1) FROM tame;
