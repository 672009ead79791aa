-- Exact percentiles and medians of every numeric type.
-- tables: numbers, tame, keys, intervals, empty, batch_plus_one
-- matrix: ansi=true,false ; batch=7,65536

SELECT percentile(t, 0.5), percentile(s, 0.5), percentile(i, 0.5), percentile(l, 0.5), percentile(f, 0.25), percentile(d, 0.75), percentile(n9, 0.5), percentile(n18, 0.5), percentile(n38, 0.5), percentile(n380, 0.5), percentile(nothing, 0.5), percentile(id, 0.5) FROM numbers;
SELECT percentile(t, 0), percentile(s, 0), percentile(i, 0), percentile(l, 0), percentile(f, 0), percentile(d, 0), percentile(n9, 0), percentile(n18, 0), percentile(n38, 0), percentile(n380, 0), percentile(id, 0) FROM numbers;
SELECT percentile(t, 1), percentile(s, 1), percentile(i, 1), percentile(l, 1), percentile(f, 1), percentile(d, 1), percentile(n9, 1), percentile(n18, 1), percentile(n38, 1), percentile(n380, 1), percentile(id, 1) FROM numbers;
SELECT b2, median(t), median(s), median(i), median(l), median(n9), median(n18), median(n38), median(n380), median(nothing), median(id) FROM numbers GROUP BY b2;
-- zeros: unsigned
SELECT b2, median(f), median(d), median(d2), percentile(d, 0.1), percentile(f, 0.9), percentile_disc(0.5) WITHIN GROUP (ORDER BY d) FROM numbers GROUP BY b2;
-- zeros: unsigned
SELECT i, median(d), percentile(f, 0.37), percentile(n38, 0.11), percentile(n380, 0.99), percentile(l, 0.333333333333) FROM numbers GROUP BY i;
SELECT id, median(t), median(d), median(f), median(n38), percentile(l, 1.0) FROM numbers GROUP BY id;
-- NaN is one value, the largest; infinities are interpolated.
-- zeros: unsigned
SELECT percentile(d, 0.5), percentile(d, 0.95), percentile(f, 0.5), percentile(f, 0.99), percentile_cont(0.9) WITHIN GROUP (ORDER BY d DESC) FROM numbers WHERE isnan(d) OR d > 1e10D OR d < -1e10D OR d = 0;
-- expect: some
SELECT percentile(x, 0.5), percentile(x, 0.1), percentile(x, 0.9), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM VALUES (double('-Infinity')), (double('Infinity')), (1D), (double('NaN')) AS t(x);
-- expect: some
SELECT percentile(x, 0.25), percentile(x, 0.5), percentile(x, 0.75) FROM VALUES (double('-Infinity')), (double('Infinity')) AS t(x);
-- zeros: unsigned
-- expect: some
SELECT percentile(x, 0.5), percentile(x, 0.1), percentile(x, 0.9), percentile_cont(0.3) WITHIN GROUP (ORDER BY x DESC) FROM VALUES (-0.0D), (0.0D), (-0.0D), (0.0D), (5D) AS t(x);
-- expect: some
SELECT percentile(x, 0.5) FROM VALUES (-0.0D) AS t(x);
-- expect: some
SELECT percentile(x, 0.5) FROM VALUES (CAST('-0.0' AS FLOAT)), (CAST(1 AS FLOAT)), (CAST(-1 AS FLOAT)) AS t(x);
-- Integers that differ, but not as doubles.
-- expect: some
SELECT percentile(x, 0.3), percentile(x, 0.5), percentile(x, 0.7) FROM VALUES (9007199254740993), (9007199254740992), (9223372036854775807), (-9223372036854775808) AS t(x);
SELECT k, percentile(i, 0.1), percentile(i, 0.25), percentile(i, 0.5), percentile(i, 0.9), median(n9), percentile(n15, 0.3), percentile(n18, 0.6), percentile(n38, 0.7), percentile(f, 0.45) FROM tame GROUP BY k;
SELECT k, percentile_cont(0.25) WITHIN GROUP (ORDER BY i), percentile_cont(0.25) WITHIN GROUP (ORDER BY i DESC), percentile_disc(0.25) WITHIN GROUP (ORDER BY i), percentile_disc(0.25) WITHIN GROUP (ORDER BY i DESC), percentile_disc(0.0) WITHIN GROUP (ORDER BY l), percentile_disc(1.0) WITHIN GROUP (ORDER BY n38 DESC) FROM tame GROUP BY k;
-- set: spark.sql.legacy.percentileDiscCalculation=true
SELECT k, percentile_disc(0.25) WITHIN GROUP (ORDER BY i), percentile_disc(0.6) WITHIN GROUP (ORDER BY d DESC), percentile_disc(0.0) WITHIN GROUP (ORDER BY l), percentile_disc(1.0) WITHIN GROUP (ORDER BY n38) FROM tame GROUP BY k;
SELECT percentile(i, 0.5, 3), percentile(i, 0.25, 1000000), percentile(i, 0.5, 0), k FROM tame GROUP BY k;
-- With other functions, filters, HAVING and expressions of the result.
SELECT k, count(*), sum(i), avg(i), median(i), min(i), max(i), percentile(i, 0.9) FROM tame GROUP BY k;
SELECT count(*), sum(l), median(l), percentile(l, 0.75), max(d), median(d) FROM tame;
SELECT k, median(i) FILTER (WHERE id % 2 = 0), median(i) FILTER (WHERE id < 0), median(i), percentile(d, 0.5) FILTER (WHERE b) FROM tame GROUP BY k;
SELECT k, median(i) + 1 AS m, percentile(l, 0.5) / 2 AS h FROM tame GROUP BY k HAVING median(i) > 10 AND count(*) > 3;
SELECT k, z, median(i), count(*) FROM tame GROUP BY ROLLUP (k, z);
SELECT k, percentile(CASE WHEN i > 0 THEN i END, 0.5), median(i * 2), median(i + l), median('12'), median(NULL), median(7) FROM tame GROUP BY k;
SELECT median(m), percentile(c, 0.5) FROM (SELECT k, z, median(i) AS m, count(*) AS c FROM tame GROUP BY k, z);
-- DISTINCT values.
SELECT k, percentile(DISTINCT i, 0.5), count(DISTINCT i), sum(l) FROM tame GROUP BY k;
SELECT percentile(DISTINCT i, 0.3), median(DISTINCT i) FROM tame;
SELECT k, median(l), count(DISTINCT i), percentile(n38, 0.2) FROM tame GROUP BY k;
SELECT k, count(DISTINCT i), count(DISTINCT z), median(l) FROM tame GROUP BY k;
-- No rows.
SELECT median(id), percentile(n, 0.5), percentile(d, 0.5), count(*) FROM empty;
SELECT median(id), percentile(i, 0.5), percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM tame WHERE id < 0;
SELECT k, median(id), percentile(i, 0.5) FROM tame WHERE id < 0 GROUP BY k;
SELECT nothing, median(nothing), percentile(nothing, 0.1) FROM numbers GROUP BY nothing;
SELECT str, median(id), median(i), percentile(n18, 0.4) FROM keys GROUP BY str;
-- More rows than a batch, and partial aggregations that pass rows through or flush groups.
SELECT g, median(id), percentile(n, 0.9), percentile(id, 0.123) FROM batch_plus_one GROUP BY g;
SELECT median(id), percentile(n, 0.25), percentile_disc(0.7) WITHIN GROUP (ORDER BY id DESC) FROM batch_plus_one;
-- set: spark.pysparkPipeline.aggregate.passThroughRows=100 ; spark.pysparkPipeline.aggregate.passThroughRatio=1
SELECT g, flag, count(*), median(id), percentile(n, 0.5), percentile(CAST(n AS DECIMAL(38,3)) * -1000000, 0.5) FROM batch_plus_one GROUP BY g, flag;
-- set: spark.pysparkPipeline.aggregate.passThroughRows=1000
SELECT count(*), min(m), max(m) FROM (SELECT id, median(n) AS m FROM batch_plus_one GROUP BY id);
-- set: spark.sql.execution.useObjectHashAggregateExec=false
SELECT k, median(i), count(*) FROM tame GROUP BY k;
-- expect: any
SELECT k, percentile(i, array(0.25, 0.75)) FROM tame GROUP BY k;
-- expect: partly (percentile|median).*is not supported
SELECT k, percentile(i, 0.5, z) FROM tame WHERE z >= 0 GROUP BY k;
-- expect: partly (percentile|median).*is not supported
SELECT k, percentile(i, double('NaN')) FROM tame GROUP BY k;
-- Intervals, and several percentages.
SELECT percentile(dt, 0.5), extract(MONTH FROM percentile(ym, 0.4)), median(dt), percentile_cont(0.3) WITHIN GROUP (ORDER BY dt DESC), percentile_disc(0.3) WITHIN GROUP (ORDER BY dt), percentile(hm, 0.37), percentile(dt, array(0.2, 0.5)) FROM intervals;
SELECT id % 5 AS k, median(dt), extract(MONTH FROM median(ym)), extract(YEAR FROM percentile_cont(0.3) WITHIN GROUP (ORDER BY ym DESC)), extract(MONTH FROM percentile_disc(0.3) WITHIN GROUP (ORDER BY ym)), percentile(id, array(0.75, 0.25, 0.25, 1)), percentile(id, array(0.5)) FROM intervals GROUP BY id % 5;
-- zeros: unsigned
SELECT i, percentile(d, array(0.1, 0.9)), percentile(n38, array(0.5, 0.6)), percentile(t, array(0)) FROM numbers GROUP BY i;
SELECT percentile(id, array(0.5, 0.1)), percentile(id, 0.1 + 0.2) FROM tame WHERE id < 0;
SELECT percentile(id, 0.1 + 0.2), percentile(id, 0.5, 1 + 1), percentile_disc(0.1 + 0.4) WITHIN GROUP (ORDER BY id) FROM tame;
