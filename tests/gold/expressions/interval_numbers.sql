-- Intervals of numbers, times and divided by numbers, in buckets, cast to intervals of other fields.
-- tables: times, numbers, tame
-- matrix: ansi=true,false

SELECT id, make_dt_interval(days, sdays, tdays, 1.000001 * id) AS a, make_dt_interval(days) AS b, make_dt_interval(days, -5) AS c, make_dt_interval(0, 0, 0, -0.5) AS e, make_dt_interval() AS f FROM times;
SELECT id, extract(MONTH FROM make_ym_interval(days, sdays)) AS a, extract(YEAR FROM make_ym_interval(days)) AS b, make_ym_interval(days, tdays) > INTERVAL '1' YEAR AS c FROM times;
SELECT id, extract(YEAR FROM a) AS y, extract(MONTH FROM a) AS m, extract(DAY FROM b) AS e, extract(HOUR FROM b) AS h, extract(MINUTE FROM b) AS n, extract(SECOND FROM b) AS s FROM (SELECT id, make_ym_interval(-178956970, CAST(id * 0 AS INT) - 8) AS a, make_dt_interval(-106751991, CAST(id * 0 AS INT) - 4, 0, -54.775808) AS b FROM times WHERE id < 3);
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION
SELECT id, make_ym_interval(huge, 8) IS NULL AS a FROM times;
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION
SELECT id, make_dt_interval(huge, 8) AS a FROM times;
SELECT id, make_dt_interval(i % 1000, t, s) / CASE WHEN z = 0 THEN 7 ELSE z END AS a, make_dt_interval(i % 1000, t, s) / CASE WHEN l = 0 THEN 1L ELSE l END AS b, make_dt_interval(i, t) / (n9 + 0.001) AS c, make_dt_interval(i, t) / (d + 0.5D) AS e, make_dt_interval(t) / 3 AS f, make_dt_interval(t) / -0.7 AS g FROM tame;
SELECT id, hash(make_ym_interval(i % 1000, t) / CASE WHEN z = 0 THEN 7 ELSE z END, make_ym_interval(t, s) / l, make_ym_interval(i, t) / (n9 + 0.001), make_ym_interval(i, t) / (d + 0.5D), make_ym_interval(t, 5) / CAST(2 AS tinyint), make_ym_interval(t, 7) / 1.5F) AS a FROM tame;
SELECT id, make_dt_interval(i % 1000, t, s) * n9 AS a, make_dt_interval(i % 1000, t, s) * n38 AS b, make_dt_interval(t, s) * d AS c, make_dt_interval(0, 0, 0, 0.000001) * f AS e, make_dt_interval(0, 0, 0, 0.000001 * t) * 0.5 AS g, make_dt_interval(0, 0, 0, 0.000001 * t) * 0.5D AS h FROM (SELECT id, i, t, s, n9, n38, f, CASE WHEN abs(d) < 1e5 THEN d END AS d FROM tame);
SELECT id, hash(make_ym_interval(t, s) * n9, make_ym_interval(t, s) * n15, make_ym_interval(t, s) * d, make_ym_interval(t) * f, make_ym_interval(0, t) * 0.5) AS a FROM (SELECT id, t, s, n9, CASE WHEN n15 < 100 THEN n15 END AS n15, CASE WHEN abs(d) < 1e5 THEN d END AS d, f FROM tame);
-- expect: error INTERVAL_DIVIDED_BY_ZERO
SELECT id, make_dt_interval(1) / z AS a FROM tame;
-- expect: error INTERVAL_DIVIDED_BY_ZERO
SELECT id, make_ym_interval(1) / (n9 - n9) IS NULL AS a FROM tame;
-- expect: error
SELECT id, hash(make_ym_interval(i) * 1e10D) AS a FROM tame;
-- expect: error
SELECT id, make_dt_interval(t) * (d / 1e-320D) AS a FROM tame;
-- expect: error
SELECT id, make_dt_interval(t) * CAST(1e30 AS decimal(38,0)) AS a FROM tame;
SELECT id, try_divide(make_dt_interval(i, t), z) AS a, try_divide(make_dt_interval(t), d) AS b, try_multiply(make_dt_interval(1), n38 * 100000000) AS c, try_divide(make_dt_interval(i), n9) AS e, extract(MONTH FROM try_divide(make_ym_interval(t), z)) AS f FROM tame;
SELECT id, make_dt_interval(i, t) div make_dt_interval(z + 1, s) AS a, make_ym_interval(i, t) div make_ym_interval(0, z + 1) AS b, INTERVAL '100' DAY div INTERVAL '7' HOUR AS c, make_dt_interval(i) div INTERVAL '-1' SECOND AS e FROM tame;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, make_dt_interval(i) div make_dt_interval(z) AS a, make_ym_interval(i % 100) div make_ym_interval(z) AS b FROM tame;
SELECT id, width_bucket(make_ym_interval(t, s), INTERVAL '-1' YEAR, INTERVAL '2' YEAR, l) AS a, width_bucket(make_dt_interval(t, s), INTERVAL '5' DAY, INTERVAL '-5' DAY, 10) AS b, width_bucket(make_ym_interval(t, s), INTERVAL '0' YEAR, INTERVAL '0' YEAR, 3) AS c, width_bucket(make_dt_interval(t), make_dt_interval(s), make_dt_interval(i), 4) AS e FROM tame;
SELECT id, CAST(make_dt_interval(i, t, s, n9) AS interval day) AS a, CAST(make_dt_interval(i, t, s, n9) AS interval hour) AS b, CAST(make_dt_interval(i, t, s, n9) AS interval day to minute) AS c, CAST(make_dt_interval(0, 0, 0, n9) AS interval minute) AS e, CAST(CAST(make_dt_interval(i) AS interval day) AS interval hour to second) AS f, CAST(make_dt_interval(0, 0, 0, n9) AS interval second) AS g FROM tame;
SELECT id, extract(MONTH FROM CAST(CAST(make_ym_interval(t, s) AS interval year) AS interval year to month)) AS a, hash(CAST(make_ym_interval(t, s) AS interval year)) AS b, hash(CAST(make_ym_interval(t, s) AS interval month)) AS c FROM tame;
SELECT id, try_add(ts, make_dt_interval(days)) AS a, try_subtract(ts, INTERVAL '1' MONTH) AS b, try_add(d, INTERVAL '1' MONTH) AS c, try_subtract(make_dt_interval(days), INTERVAL '1' HOUR) AS e, make_dt_interval(days) + INTERVAL '3' MINUTE AS f, make_dt_interval(days) > INTERVAL '3' HOUR AS g FROM times WHERE ts BETWEEN TIMESTAMP'0009-01-01' AND TIMESTAMP'9980-01-01' AND d BETWEEN DATE'0009-01-01' AND DATE'9980-01-01';
SELECT id, try_add(ts, make_dt_interval(huge)) AS a, try_subtract(d, make_ym_interval(days)) AS b FROM times WHERE ts BETWEEN TIMESTAMP'0009-01-01' AND TIMESTAMP'9980-01-01' AND d BETWEEN DATE'0509-01-01' AND DATE'9480-01-01';
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION
SELECT id, make_dt_interval(106751991 - id % 2) + make_dt_interval(id) AS a FROM tame;
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION
SELECT id, hash(make_ym_interval(-178956970, -7) - make_ym_interval(0, id)) AS a FROM tame;
SELECT id, try_add(make_dt_interval(106751991), make_dt_interval(id)) AS a, try_subtract(make_dt_interval(-106751990), make_dt_interval(id)) AS b, hash(make_ym_interval(t) - make_ym_interval(0, s), make_ym_interval(t) + INTERVAL '1' YEAR) AS c FROM tame;
