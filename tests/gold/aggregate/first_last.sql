-- first, last and any_value of every type, with and without IGNORE NULLS; the tables are one file, so that rows have an order.
-- tables: tame, texts, times, keys
-- matrix: ansi=true,false ; batch=7

SELECT first(i), last(i), first(i, true), last(i, true), any_value(z), any_value(z) IGNORE NULLS FROM tame;
SELECT k, first(i), last(i), first(i, true), last(i, true), count(*), sum(i) FROM tame GROUP BY k;
SELECT k, first(t), last(s), first(l), last(f), first(d), last(n9), first(n38), last(b), first(k), last(id) FROM tame GROUP BY k;
SELECT k, first(t, true), last(s, true), first(l, true), last(f, true), first(d, true), last(n9, true), first(n38, true) FROM tame GROUP BY k;
SELECT flag, first(s), last(s), first(s2, true), last(s2, true), first(bin), last(bin, true) FROM texts GROUP BY flag;
SELECT first(s), last(s), first(bin, true), last(bin, true) FROM texts;
SELECT days, first(d), last(ts), first(ntz), last(d, true), first(ts, true), last(ntz, true) FROM times GROUP BY days;
SELECT id, first(i), last(i, true) FROM tame GROUP BY id;
SELECT first(i), last(i, true), any_value(i), first(NULL) FROM tame WHERE id < 0;
SELECT z, first(i) FROM tame WHERE id < 0 GROUP BY z;
SELECT k, first(i) FILTER (WHERE id > 100), last(i, true) FILTER (WHERE id < 0) FROM tame GROUP BY k;
SELECT k, sum(i) FILTER (WHERE id % 2 = 0), sum(DISTINCT i), count(DISTINCT z) FROM tame GROUP BY k;
SELECT k, min(i), first(i + 1), last(CASE WHEN b THEN id END, true) FROM tame GROUP BY k;
SELECT first(NULL), last(NULL), k FROM tame GROUP BY k;
