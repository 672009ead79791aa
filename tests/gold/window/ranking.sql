-- Ranks over partitions and orders of every type: NULL, NaN and signed zeros are equal to themselves.
-- tables: clocks, keys, texts, times, empty, tame, batch_plus_one
-- matrix: ansi=true ; aqe=true,false ; batch=31

SELECT id, b, row_number() OVER (PARTITION BY b ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY b) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY b DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY b DESC NULLS FIRST) AS e FROM keys;
SELECT id, f, row_number() OVER (PARTITION BY f ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY f) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY f DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY f DESC NULLS FIRST) AS e FROM keys;
SELECT id, d, row_number() OVER (PARTITION BY d ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY d) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY d DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY d DESC NULLS FIRST) AS e FROM keys;
SELECT id, n38, row_number() OVER (PARTITION BY n38 ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY n38) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY n38 DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY n38 DESC NULLS FIRST) AS e FROM keys;
SELECT id, str, row_number() OVER (PARTITION BY str ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY str) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY str DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY str DESC NULLS FIRST) AS e FROM keys;
SELECT id, bin, row_number() OVER (PARTITION BY bin ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY bin) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY bin DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY bin DESC NULLS FIRST) AS e FROM keys;
SELECT id, ts, row_number() OVER (PARTITION BY ts ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY ts) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY ts DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY ts DESC NULLS FIRST) AS e FROM keys;
SELECT id, void, row_number() OVER (PARTITION BY void ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY void) AS c FROM keys;
SELECT id, rank() OVER (ORDER BY void DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY void DESC NULLS FIRST) AS e FROM keys;
SELECT id, percent_rank() OVER (PARTITION BY k ORDER BY z, i) AS p, cume_dist() OVER (PARTITION BY k ORDER BY z, i) AS c, rank() OVER (PARTITION BY k ORDER BY z, i) AS r FROM tame;
SELECT id, ntile(4) OVER (PARTITION BY k ORDER BY id) AS a, ntile(1000) OVER (ORDER BY id) AS b, ntile(1) OVER (ORDER BY id) AS c FROM tame;
SELECT id, row_number() OVER (PARTITION BY k, z ORDER BY id) AS a, row_number() OVER (PARTITION BY z ORDER BY id) AS b, rank() OVER (ORDER BY i) AS c FROM tame;
SELECT k, c, rank() OVER (ORDER BY c DESC, k) AS r FROM (SELECT k, count(*) AS c FROM tame GROUP BY k);
SELECT id, lag(s) OVER (PARTITION BY flag ORDER BY id) AS a, lag(s, 3, 'none') OVER (PARTITION BY flag ORDER BY id) AS b, lead(bin) OVER (PARTITION BY flag ORDER BY id) AS c, lead(s, 2, 'x') OVER (PARTITION BY flag ORDER BY id) AS d FROM texts;
SELECT id, lag(d, -2) OVER (ORDER BY id) AS a, lead(ts, -1) OVER (ORDER BY id) AS b, lag(d, 0) OVER (ORDER BY id) AS c, lead(d2, 500) OVER (ORDER BY id) AS e FROM times;
SELECT id, lag(i, 1, 0) OVER (PARTITION BY k ORDER BY id) AS a, lead(l, 2, -1) OVER (PARTITION BY k ORDER BY id) AS b, lead(n9, 1, 0.5) OVER (ORDER BY id) AS c FROM tame;
-- expect: any
SELECT id, row_number() OVER (PARTITION BY s ORDER BY id) AS n, sum(n) OVER () AS s FROM empty;
SELECT g, id, row_number() OVER (PARTITION BY g ORDER BY id) AS n, lag(id) OVER (PARTITION BY g ORDER BY id) AS l FROM batch_plus_one WHERE id % 16 = 1;
SELECT id, n, i - lag(i) OVER (ORDER BY id) AS step FROM (SELECT id, i, row_number() OVER (ORDER BY id) AS n FROM tame WHERE i > 0);
-- rows: ordered
SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM tame ORDER BY id DESC;
-- rows: ordered
SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS n FROM tame ORDER BY k, id DESC;
SELECT id, t, row_number() OVER (PARTITION BY t ORDER BY id DESC) AS n, count(*) OVER (PARTITION BY t) AS c, lag(t2) OVER (PARTITION BY t ORDER BY id) AS l, max(t2) OVER (PARTITION BY t ORDER BY id) AS m FROM clocks;
SELECT id, rank() OVER (ORDER BY t DESC NULLS FIRST) AS r, dense_rank() OVER (ORDER BY t DESC NULLS FIRST) AS e FROM clocks;
