-- AND, OR, CASE, IF and COALESCE guard what stands behind them: a guarded division must not raise.
-- tables: tame, numbers, texts
-- matrix: ansi=true,false

SELECT id FROM tame WHERE z <> 0 AND 10 / z > 4;
SELECT id FROM tame WHERE z = 0 OR 10 / z > 4;
SELECT id FROM tame WHERE NOT (z = 0 OR z IS NULL) AND i % z = 1;
SELECT id, CASE WHEN z = 0 THEN NULL ELSE i / z END AS q FROM tame;
SELECT id, CASE WHEN z <> 0 THEN i % z END AS q FROM tame;
SELECT id, CASE z WHEN 0 THEN -1 WHEN 1 THEN i ELSE i % z END AS q FROM tame;
SELECT id, IF(z = 0, 0, i / z) AS q FROM tame;
SELECT id, coalesce(z, 1 / 0) IS NULL AS q FROM tame WHERE z IS NOT NULL;
SELECT id, coalesce(i, i / z) AS q FROM tame WHERE i IS NOT NULL;
SELECT id FROM texts WHERE ds = '2024-02-29' AND CAST(ds AS DATE) = DATE'2024-02-29';
SELECT id, CASE WHEN ds IN ('2024-02-29', '2024') THEN CAST(ds AS DATE) END AS day FROM texts;
-- Two different divisions: Spark evaluates a common subexpression early, and would raise.
SELECT id, z <> 0 AND i / z > 1 AS x, z = 0 OR l / z > 1 AS y FROM tame;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id FROM tame WHERE 10 / z > 4;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id FROM tame WHERE 10 / z > 4 AND z <> 0;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, CASE WHEN z <> 0 THEN 1 ELSE i / z END AS q FROM tame;
SELECT sum(10 / z) FILTER (WHERE z <> 0) FROM tame;
SELECT k, sum(10 / z) FILTER (WHERE z > 0), count(7 / z) FILTER (WHERE z = 2) FROM tame GROUP BY k;
-- NULL on the left does not guard: NULL AND (error) raises in Spark.
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id FROM tame WHERE (CAST(NULL AS BOOLEAN) OR id < 0 OR z IS NULL) IS NULL AND i / z > 0;
