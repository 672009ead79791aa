-- histogram_numeric: exact while a group has as many distinct values as bins, else with Spark's own bins and ties.
-- tables: numbers, tame, times, intervals, empty, keys
-- matrix: ansi=true,false ; batch=7,65536

SELECT histogram_numeric(t, 100), histogram_numeric(s, 999), histogram_numeric(i, 50), histogram_numeric(l, 50), histogram_numeric(nothing, 3) FROM numbers;
SELECT histogram_numeric(i, 3), histogram_numeric(l, 2), histogram_numeric(d, 5), histogram_numeric(f, 3) FROM (SELECT /*+ COALESCE(1) */ * FROM numbers);
SELECT id % 4, histogram_numeric(t, 3), histogram_numeric(i, 10), histogram_numeric(CAST(id AS float) / 3, 5), histogram_numeric(d, 4) FROM (SELECT /*+ COALESCE(1) */ * FROM keys) GROUP BY 1;
SELECT id % 3, histogram_numeric(id, 7), histogram_numeric(id * id % 101, 9), histogram_numeric(sin(id), 6) FROM keys GROUP BY 1;
SELECT histogram_numeric(id, 7), histogram_numeric(id * id % 101, 9), histogram_numeric(sin(id), 6) FILTER (WHERE id > 3) FROM keys;
SELECT g, histogram_numeric(x, 20), histogram_numeric(-x, 5) FROM (SELECT id % 4 AS g, pmod(id * 7919, 1009) AS x FROM range(0, 20000, 1, 3)) GROUP BY g;
SELECT histogram_numeric(dt, 8), histogram_numeric(ts, 6), histogram_numeric(ntz, 5) FROM keys;
SELECT xxhash64(histogram_numeric(ym, 8)), xxhash64(histogram_numeric(dt, 6)) FROM intervals;
SELECT histogram_numeric(id, 5), count(*) FROM empty;
SELECT id, histogram_numeric(t, 2), histogram_numeric(d, 3) FROM numbers GROUP BY id;
SELECT histogram_numeric(a, 3), sum(n) FROM (SELECT id % 5 AS k, avg(id) AS a, count(*) AS n FROM keys GROUP BY id % 5);
-- expect: partly histogram_numeric
SELECT histogram_numeric(n9, 4) FROM (SELECT /*+ COALESCE(1) */ * FROM numbers);
