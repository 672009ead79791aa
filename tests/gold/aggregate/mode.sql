-- The most frequent value of every type.
-- tables: numbers, tame, texts, times, keys, empty, batch_plus_one
-- matrix: ansi=true,false ; batch=7,65536

SELECT mode(t, true), mode(s, true), mode(i, true), mode(l, true), mode(n9, true), mode(n18, true), mode(n38, true), mode(n380, true), mode(b, true), mode(nothing, true), mode(id, true) FROM numbers;
SELECT mode() WITHIN GROUP (ORDER BY t DESC), mode() WITHIN GROUP (ORDER BY s DESC), mode() WITHIN GROUP (ORDER BY l DESC), mode() WITHIN GROUP (ORDER BY n38 DESC), mode() WITHIN GROUP (ORDER BY b2 DESC), mode() WITHIN GROUP (ORDER BY id DESC) FROM numbers;
SELECT b2, mode(t, true), mode(s, true), mode() WITHIN GROUP (ORDER BY i DESC), mode() WITHIN GROUP (ORDER BY n380), mode() WITHIN GROUP (ORDER BY n18 DESC), count(*), max(l) FROM numbers GROUP BY b2;
-- zeros: unsigned
SELECT i, mode(d, true), mode(f, true), mode() WITHIN GROUP (ORDER BY d DESC), mode() WITHIN GROUP (ORDER BY f DESC) FROM numbers GROUP BY i;
-- zeros: unsigned
SELECT mode(d, true), mode() WITHIN GROUP (ORDER BY d DESC) FROM numbers WHERE isnan(d) OR d = 0;
SELECT id, mode(d, true), mode(f, true), mode(n38, true) FROM numbers WHERE d <> 0 AND f <> 0 GROUP BY id;
-- Spark 4.1 counts -0.0 and 0.0 apart.
-- expect: some
SELECT mode(x, true), mode() WITHIN GROUP (ORDER BY x DESC) FROM VALUES (0.0D), (-0.0D), (0.0D), (-0.0D), (0.0D), (7D), (7D), (7D), (7D), (double('NaN')) AS t(x);
SELECT mode(s, true), mode(s2, true), mode(flag, true), mode(bin, true), mode() WITHIN GROUP (ORDER BY s DESC), mode() WITHIN GROUP (ORDER BY bin DESC), mode() WITHIN GROUP (ORDER BY flag DESC) FROM texts;
SELECT flag, mode(s, true), mode(s2, true), mode(bin, true), mode() WITHIN GROUP (ORDER BY s DESC), mode() WITHIN GROUP (ORDER BY s2 || s DESC), mode() WITHIN GROUP (ORDER BY bin DESC) FROM texts GROUP BY flag;
SELECT s, mode(s, true), mode(s2, true), min(s2) FROM texts GROUP BY s;
SELECT mode(d, true), mode(d2, true), mode(ts, true), mode(ts2, true), mode(ntz, true), mode() WITHIN GROUP (ORDER BY ts DESC) FROM times;
SELECT days, mode(d, true), mode(ts, true), mode(ntz, true), mode() WITHIN GROUP (ORDER BY d DESC), mode() WITHIN GROUP (ORDER BY ntz DESC) FROM times GROUP BY days;
SELECT k, mode(i, true), mode(i, true) FILTER (WHERE b), median(i), count(DISTINCT z) FROM tame GROUP BY k;
SELECT k, mode(z, true) + 1, count(*) FROM tame GROUP BY k HAVING mode(z, true) >= 0;
SELECT z, mode(k, true), mode() WITHIN GROUP (ORDER BY k DESC), mode(7, true), mode('x', true) FROM tame GROUP BY z;
SELECT str, mode(id, true), mode(bin, true), mode() WITHIN GROUP (ORDER BY dt DESC) FROM keys GROUP BY str;
SELECT mode(id, true), mode(s, true), mode(n, true), mode(d, true) FROM empty;
SELECT k, mode(id, true), mode(k, true) FROM tame WHERE id < 0 GROUP BY k;
SELECT mode(k, true), mode(i, true) FROM tame WHERE id < 0;
SELECT k, z, mode(i, true), mode(k, true) FROM tame GROUP BY ROLLUP (k, z);
SELECT g, mode(flag, true), mode(n, true), mode(id % 3, true) FROM batch_plus_one GROUP BY g;
-- set: spark.pysparkPipeline.aggregate.passThroughRows=100 ; spark.pysparkPipeline.aggregate.passThroughRatio=1
SELECT flag, mode(CAST(id % 50 AS STRING), true), mode() WITHIN GROUP (ORDER BY CAST(id AS STRING) DESC), mode(g, true) FROM batch_plus_one GROUP BY flag;
-- expect: partly mode\(int\) with reverseOpt=null is not supported
SELECT k, mode(i) FROM tame WHERE i IS NULL GROUP BY k;
-- expect: partly mode\(int\) with reverseOpt=null is not supported
SELECT k, mode(i, false) FROM tame WHERE i IS NULL GROUP BY k;
