-- Grouping keys of each type: NULL is a group, NaN is one value, -0.0 and 0.0 are one, strings compare by bytes.
-- tables: keys, clocks
-- matrix: ansi=true ; tz=America/St_Johns

SELECT b, count(*), sum(one) FROM keys GROUP BY b;
SELECT t, count(*), min(id) FROM keys GROUP BY t;
SELECT s, count(*), max(id) FROM keys GROUP BY s;
SELECT i, count(*), sum(one) FROM keys GROUP BY i;
SELECT l, count(*), sum(one) FROM keys GROUP BY l;
SELECT f, count(*), sum(one) FROM keys GROUP BY f;
SELECT d, count(*), sum(one) FROM keys GROUP BY d;
SELECT n9, count(*) FROM keys GROUP BY n9;
SELECT n18, count(*) FROM keys GROUP BY n18;
SELECT n38, count(*), max(id) FROM keys GROUP BY n38;
SELECT str, count(*), min(id) FROM keys GROUP BY str;
SELECT bin, count(*), min(id) FROM keys GROUP BY bin;
SELECT dt, count(*), min(id) FROM keys GROUP BY dt;
SELECT ts, count(*), min(id) FROM keys GROUP BY ts;
SELECT ntz, count(*), min(id) FROM keys GROUP BY ntz;
SELECT void, count(*), sum(one) FROM keys GROUP BY void;
SELECT void, d, count(*) FROM keys GROUP BY void, d;
SELECT str, bin, count(*) FROM keys GROUP BY str, bin;
SELECT d, f, count(*), sum(id) FROM keys GROUP BY d, f;
SELECT b, t, i, str, n9, count(*) FROM keys GROUP BY b, t, i, str, n9;
SELECT dt, ts, n38, d, count(*) FROM keys GROUP BY dt, ts, n38, d;
SELECT DISTINCT d, f FROM keys;
SELECT DISTINCT str FROM keys;
-- expect: any
SELECT count(DISTINCT d), count(DISTINCT d, f) FROM keys WHERE d = 0 OR d <> d;
SELECT d + 1 AS k, count(*) FROM keys GROUP BY d + 1;
SELECT -0.0D * one AS k, count(*) FROM keys GROUP BY 1;
-- Times of day as keys, arguments and results.
SELECT t, count(*), min(t2), max(t2), count(DISTINCT t2), sum(id) FROM clocks GROUP BY t;
SELECT t, t2, count(*) FROM clocks GROUP BY t, t2;
SELECT DISTINCT t FROM clocks;
SELECT min(t), max(t), count(t), count(DISTINCT t, t2), min_by(t, id), approx_count_distinct(t) FROM clocks WHERE id >= 0;
SELECT min(t), max(t), count(t) FROM clocks WHERE id < 0;
