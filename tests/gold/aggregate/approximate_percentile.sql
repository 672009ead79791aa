-- percentile_approx: exact while a group has fewer values than half the accuracy, else with Spark's own summaries.
-- tables: numbers, tame, times, intervals, empty
-- matrix: ansi=true,false ; batch=7,65536

SELECT percentile_approx(t, 0.5), percentile_approx(s, 0.5), percentile_approx(i, 0.5), percentile_approx(l, 0.5), percentile_approx(n9, 0.5), percentile_approx(nothing, 0.5), percentile_approx(id, 0.5) FROM numbers;
-- With several tasks Spark's value of numbers with NaN or zeros of both signs depends on the order of the tasks.
SELECT percentile_approx(t, 0), percentile_approx(s, 1), percentile_approx(i, 0), percentile_approx(l, 1), percentile_approx(f, 0), percentile_approx(f, 1), percentile_approx(d, 0), percentile_approx(d, 1), percentile_approx(n9, 0.3) FROM numbers WHERE d <> 0 AND f <> 0 AND NOT isnan(d) AND NOT isnan(f);
SELECT b2, percentile_approx(t, 0.2), percentile_approx(s, 0.5), percentile_approx(i, 0.7), percentile_approx(l, 0.5), percentile_approx(n9, 0.4) FROM numbers GROUP BY b2;
SELECT b2, percentile_approx(f, 0.5), percentile_approx(d, 0.9), percentile_approx(d, array(0.1, 0.5, 1.0)) FROM numbers WHERE d <> 0 AND f <> 0 AND NOT isnan(d) AND NOT isnan(f) GROUP BY b2;
SELECT i, percentile_approx(l, 0.333333333333), approx_percentile(n9, 0.99), percentile_approx(d, 0.37) FROM numbers WHERE d <> 0 AND NOT isnan(d) GROUP BY i;
SELECT id, percentile_approx(t, 0.5), percentile_approx(d, 0.5), percentile_approx(f, 1.0), percentile_approx(l, 0.5) FROM numbers GROUP BY id;
SELECT g, percentile_approx(x, 0.5), percentile_approx(x, 0.95), percentile_approx(x, array(0.0, 0.3, 1.0)), percentile_approx(-x, 0.5), percentile_approx(CAST(x AS float), 0.9) FROM (SELECT id % 4 AS g, CASE WHEN id % 7 = 0 THEN double('NaN') WHEN id % 5 = 0 THEN -0.0D WHEN id % 3 = 0 THEN 0.0D WHEN id = 11 THEN double('Infinity') ELSE CAST(id AS double) END AS x FROM range(0, 60, 1, 1)) GROUP BY g;
SELECT percentile_approx(double('NaN') * id, 0.5), percentile_approx(IF(id = 0, 1, double('NaN')), 0), percentile_approx(IF(id = 0, 1, double('NaN')), array(0.5, 1)) FROM range(0, 2, 1, 1);
SELECT percentile_approx(d, 0.5), percentile_approx(ts, 0.5), percentile_approx(ts2, 0.9), percentile_approx(ntz, 0.1), percentile_approx(d2, array(0.2, 0.8)), percentile_approx(ts, array(0.2, 0.8)) FROM times;
SELECT days, percentile_approx(d, 0.5), percentile_approx(ts, 0.5), percentile_approx(ntz, array(0.9, 0.1, 0.5, 0.1)) FROM times GROUP BY days;
SELECT percentile_approx(dt, 0.5), percentile_approx(dt, 0.9), extract(MONTH FROM percentile_approx(ym, 0.4)), percentile_approx(dt, array(0.5, 0.7)) FROM intervals;
SELECT id % 5 AS k, percentile_approx(dt, 0.3), extract(YEAR FROM percentile_approx(ym, 0.4)) FROM intervals GROUP BY id % 5;
SELECT k, percentile_approx(i, 0.5), percentile_approx(i, 0.5) FILTER (WHERE id % 2 = 0), percentile_approx(i, 0.1) FILTER (WHERE id < 0), approx_percentile(DISTINCT i, 0.5), percentile_approx(i, array(0.25, 0.5)) FROM tame GROUP BY k;
SELECT percentile_approx(id, 0.5), percentile_approx(id, array(0.5)) FROM tame WHERE id < 0;
SELECT z, percentile_approx(id, 0.5) FROM tame WHERE id < 0 GROUP BY z;
SELECT percentile_approx(id, 0.5), percentile_approx(n, 0.5), percentile_approx(d, array(0.5, 0.6)) FROM empty;
-- Summaries that are compressed, of values in one task.
SELECT percentile_approx(x, 0.5, 100), percentile_approx(x, 0.01, 100), percentile_approx(x, 0.99, 100), percentile_approx(x, array(0.9, 0.1, 0.5), 20), percentile_approx(x, 0.7, 3), percentile_approx(x, 0.3, 1) FROM (SELECT (id * 7919) % 10007 AS x FROM range(0, 20000, 1, 1));
SELECT g, percentile_approx(x, 0.5, 100), percentile_approx(x, 0.25, 10), percentile_approx(x, array(0.05, 0.95), 50) FROM (SELECT id % 3 AS g, (id * 7919) % 10007 AS x FROM range(0, 30000, 1, 1)) GROUP BY g;
-- set: spark.pysparkPipeline.batchRows=65536
SELECT percentile_approx(x, array(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)), percentile_approx(x, 0.33, 1000), percentile_approx(x, 0.5, 100) FROM (SELECT (id * 7919) % 1000003 * 0.5D AS x FROM range(0, 260000, 1, 1));
-- Windows over whole partitions.
SELECT id, percentile_approx(i, 0.5) OVER (PARTITION BY k), percentile_approx(d, 0.9, 10) OVER (PARTITION BY k) FROM tame;
SELECT percentile_approx(i, 0.1 + 0.2), percentile_approx(i, 0.5, 10 * 10), percentile_approx(i, array(0.1D + 0.2D, 0.5D)) FROM tame;
-- Decimals that a double does not hold.
-- expect: partly percentile_approx\(decimal\(38,10\)
SELECT percentile_approx(n38, 0.5) FROM numbers;
