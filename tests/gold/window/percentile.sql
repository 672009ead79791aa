-- Percentiles, medians and modes of whole partitions.
-- tables: numbers, tame, texts, batch_plus_one
-- matrix: ansi=true ; aqe=true ; batch=31,65536

SELECT id, median(i) OVER (PARTITION BY k) AS a, percentile(n38, 0.9) OVER (PARTITION BY k) AS b, percentile(d, 0.25) OVER (PARTITION BY z) AS c FROM tame;
SELECT id, percentile_cont(0.3) WITHIN GROUP (ORDER BY l DESC) OVER (PARTITION BY k) AS a, percentile_disc(0.3) WITHIN GROUP (ORDER BY n9) OVER (PARTITION BY k) AS b, count(*) OVER (PARTITION BY k) AS c FROM tame;
SELECT id, median(id) OVER (), mode(z, true) OVER (PARTITION BY k) AS m, mode(k, true) OVER (PARTITION BY z) AS n FROM tame;
-- zeros: unsigned
SELECT id, median(d) OVER (PARTITION BY i) AS a, mode(n380, true) OVER (PARTITION BY i) AS b, percentile(f, 0.75) OVER (PARTITION BY i ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS c FROM numbers;
SELECT id, mode(s, true) OVER (PARTITION BY flag) AS a, mode(bin, true) OVER (PARTITION BY s2) AS b, median(nothing) OVER (PARTITION BY nothing) AS c FROM texts, (SELECT nothing FROM numbers LIMIT 1);
SELECT id, i - median(i) OVER (PARTITION BY k) AS deviation FROM tame WHERE i > 0;
SELECT g, max(m), min(n) FROM (SELECT g, median(id) OVER (PARTITION BY g) AS m, percentile(n, 0.1) OVER (PARTITION BY flag) AS n FROM batch_plus_one) GROUP BY g;
-- expect: any
SELECT id, median(i) OVER (PARTITION BY k) AS a FROM tame WHERE id < 0;
-- expect: partly (percentile|median)
SELECT id, percentile(i, 0.5) OVER (PARTITION BY k ORDER BY id) AS a FROM tame;
-- expect: partly mode
SELECT id, mode(i, true) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a FROM tame;
