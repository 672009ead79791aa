-- CASE, IF, COALESCE, NULLIF and their kin, over every type.
-- tables: tame, numbers, texts, times
-- matrix: ansi=true

SELECT id, CASE WHEN i > 0 THEN 'pos' WHEN i < 0 THEN 'neg' WHEN i = 0 THEN 'zero' END AS x FROM numbers;
SELECT id, CASE WHEN b THEN i WHEN b2 THEN s ELSE t END AS x FROM numbers;
SELECT id, CASE i WHEN 0 THEN 'a' WHEN 1 THEN NULL WHEN NULL THEN 'never' ELSE 'c' END AS x FROM numbers;
SELECT id, CASE WHEN b THEN n9 ELSE n18 END AS x, CASE WHEN b THEN i ELSE n9 END AS y FROM numbers;
SELECT id, CASE WHEN b THEN d ELSE f END AS x, CASE WHEN NOT b THEN double('NaN') ELSE -0.0D END AS y FROM numbers;
SELECT id, CASE WHEN flag = 'R' THEN s WHEN flag = 'A' THEN flag ELSE s2 END AS x FROM texts;
SELECT id, CASE WHEN d > d2 THEN d ELSE d2 END AS x, CASE WHEN d IS NULL THEN ts ELSE ts2 END AS y FROM times;
SELECT id, CASE WHEN bin = X'61' THEN NULL ELSE bin END AS x FROM texts;
SELECT id, IF(b, i, l) AS x, IF(b, n9, n38) AS y, IF(b2, s, NULL) AS z FROM numbers;
SELECT id, IF(b AND b2, b, b2) AS x, IF(i > l, true, NULL) AS y FROM numbers;
SELECT id, coalesce(i, l) AS x, coalesce(nothing, t, s) AS y, coalesce(n9, n18, 0) AS z FROM numbers;
SELECT id, coalesce(s, flag, 'none') AS x, coalesce(flag, s) AS y FROM texts;
SELECT id, coalesce(nothing, nothing) AS x, coalesce(d, f, -1) AS y, coalesce(b, b2) AS z FROM numbers;
SELECT id, coalesce(d, d2, DATE'2020-01-01') AS x, coalesce(ts, ts2) AS y, coalesce(ntz) AS z FROM times;
SELECT id, nvl(i, 0) AS x, nullif(i, 1) AS y, ifnull(l, -1) AS z, nvl2(i, 'set', 'unset') AS w FROM numbers;
SELECT id, nullif(d, double('NaN')) AS x, nullif(n9, 1) AS y FROM numbers;
SELECT id, i IS NULL AS x, i IS NOT NULL AS y, (i > l) IS NULL AS z FROM numbers;
SELECT id, (b AND b2) AS x, (b OR b2) AS y, NOT b AS z, (b AND NULL) AS n, (b OR NULL) AS m FROM numbers;
SELECT id, b = b2 AS e, b <=> b2 AS s, b < b2 AS l, b <=> NULL AS n FROM numbers;
SELECT id FROM numbers WHERE CASE WHEN b THEN i > 0 ELSE l > 0 END;
SELECT CASE WHEN id < 100 THEN 'low' ELSE 'high' END AS k, count(*) FROM numbers GROUP BY 1;
