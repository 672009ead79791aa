-- Sums and averages of day-time intervals.
-- tables: times, intervals
-- matrix: ansi=true,false ; batch=7,65536

SELECT sum(dt), avg(dt), count(dt), min(dt), max(dt) FROM intervals;
SELECT id % 5 AS k, sum(dt), avg(dt), sum(hm), avg(hm) FROM intervals GROUP BY id % 5;
SELECT id, sum(dt), avg(dt) FROM intervals GROUP BY id;
SELECT avg(CAST(id % 7 AS int) * INTERVAL '-0.000001' SECOND), avg(CAST(id % 5 AS int) * INTERVAL '0.000001' SECOND) FROM intervals GROUP BY id % 3;
SELECT sum(dt), avg(dt) FROM intervals WHERE id < 0;
SELECT id % 5 AS k, sum(dt), avg(dt) FROM intervals WHERE id < 0 GROUP BY id % 5;
SELECT sum(d - d2), avg(d - d2), sum(DISTINCT d - d2), avg(d - d2) FILTER (WHERE id % 2 = 0) FROM times WHERE d > DATE'1900-01-01' AND d2 > DATE'1900-01-01';
SELECT id, sum(dt) OVER (PARTITION BY id % 3 ORDER BY id) AS s, avg(dt) OVER (PARTITION BY id % 3 ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a, sum(dt) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS r FROM intervals;
SELECT sum(CASE WHEN id < 3 THEN 106751991 WHEN id < 6 THEN -106751991 ELSE 0 END * INTERVAL '0' DAY) FROM intervals;
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION
SELECT id % 1, sum(106751990 * INTERVAL '1' DAY) FROM intervals GROUP BY id % 1;
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION
SELECT avg(106751990 * INTERVAL '1' DAY) FROM intervals;
SELECT id % 3 AS k, extract(YEAR FROM sum(ym)) AS y FROM intervals GROUP BY id % 3;
SELECT id % 5 AS k, extract(YEAR FROM avg(ym)) AS y, extract(MONTH FROM avg(ym)) AS m, extract(MONTH FROM sum(ym)) AS s, extract(MONTH FROM try_avg(ym)) AS t, try_avg(dt) FROM intervals WHERE id < 6 GROUP BY id % 5;
SELECT extract(MONTH FROM avg(ym)), extract(MONTH FROM sum(ym)), extract(MONTH FROM try_avg(ym)), try_avg(dt) FROM intervals WHERE id < 0;
SELECT id % 5 AS k, extract(MONTH FROM avg(ym)), extract(MONTH FROM try_avg(ym)), try_avg(dt) FROM intervals WHERE id < 0 GROUP BY id % 5;
SELECT extract(YEAR FROM avg(CAST(id % 7 AS int) * INTERVAL '-1' MONTH)), extract(MONTH FROM avg(CAST(id % 7 AS int) * INTERVAL '-1' MONTH)), extract(MONTH FROM avg(CAST(id % 5 AS int) * INTERVAL '1' MONTH)) FROM intervals GROUP BY id % 3;
SELECT id, extract(MONTH FROM sum(CAST(id % 11 AS int) * INTERVAL '1' MONTH) OVER (PARTITION BY id % 3 ORDER BY id)) AS s, extract(MONTH FROM avg(CAST(id % 11 AS int) * INTERVAL '1' MONTH) OVER (PARTITION BY id % 3 ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)) AS a, extract(MONTH FROM try_avg(CAST(id % 11 AS int) * INTERVAL '1' MONTH) OVER (PARTITION BY id % 3)) AS t FROM intervals;
SELECT id % 2, extract(YEAR FROM try_avg(IF(id % 2 = 0, 1, 2000000000) * INTERVAL '1' MONTH)), try_avg(IF(id % 2 = 0, 1, 100000000) * INTERVAL '1' DAY) FROM intervals GROUP BY id % 2;
SELECT extract(YEAR FROM try_avg(2000000000 * INTERVAL '1' MONTH)), try_avg(100000000 * INTERVAL '1' DAY) FROM intervals;
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION
SELECT extract(YEAR FROM sum(2000000000 * INTERVAL '1' MONTH)) FROM intervals;
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION
SELECT id % 1, extract(YEAR FROM avg(2000000000 * INTERVAL '1' MONTH)) FROM intervals GROUP BY id % 1;
