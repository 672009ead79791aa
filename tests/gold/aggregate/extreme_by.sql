-- max_by and min_by of every type by every type; of equal orderings the last row counts.
-- tables: numbers, tame, texts, times, keys, empty
-- matrix: ansi=true,false ; batch=7

SELECT max_by(id, t), min_by(id, t), max_by(id, s), min_by(id, s), max_by(id, i), min_by(id, i), max_by(id, l), min_by(id, l), max_by(id, f), min_by(id, f), max_by(id, d), min_by(id, d), max_by(id, n9), min_by(id, n9), max_by(id, n18), min_by(id, n18), max_by(id, n38), min_by(id, n38), max_by(id, n380), min_by(id, n380), max_by(id, b), min_by(id, b) FROM numbers;
SELECT b2, max_by(id, t), min_by(id, t), max_by(t, id), min_by(t, id), max_by(t, d2), min_by(t, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, s), min_by(id, s), max_by(s, id), min_by(s, id), max_by(s, d2), min_by(s, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, i), min_by(id, i), max_by(i, id), min_by(i, id), max_by(i, d2), min_by(i, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, l), min_by(id, l), max_by(l, id), min_by(l, id), max_by(l, d2), min_by(l, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, f), min_by(id, f), max_by(f, id), min_by(f, id), max_by(f, d2), min_by(f, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, d), min_by(id, d), max_by(d, id), min_by(d, id), max_by(d, d2), min_by(d, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, n9), min_by(id, n9), max_by(n9, id), min_by(n9, id), max_by(n9, d2), min_by(n9, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, n18), min_by(id, n18), max_by(n18, id), min_by(n18, id), max_by(n18, d2), min_by(n18, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, n38), min_by(id, n38), max_by(n38, id), min_by(n38, id), max_by(n38, d2), min_by(n38, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, n380), min_by(id, n380), max_by(n380, id), min_by(n380, id), max_by(n380, d2), min_by(n380, d2) FROM numbers GROUP BY b2;
SELECT b2, max_by(id, b), min_by(id, b), max_by(b, id), min_by(b, id), max_by(b, d2), min_by(b, d2) FROM numbers GROUP BY b2;
SELECT flag, max_by(id, s), min_by(id, s), max_by(id, s2), min_by(id, s2), max_by(id, bin), min_by(id, bin), max_by(id, flag), min_by(id, flag) FROM texts GROUP BY flag;
SELECT flag, max_by(s, id), min_by(s, id), max_by(s2, id), min_by(s2, id), max_by(bin, id), min_by(bin, id), max_by(flag, id), min_by(flag, id) FROM texts GROUP BY flag;
SELECT max_by(id, s), min_by(id, s), max_by(id, s2), min_by(id, s2), max_by(id, bin), min_by(id, bin), max_by(id, flag), min_by(id, flag), max_by(s, s2), min_by(s, s2), max_by(bin, s), min_by(bin, s) FROM texts;
SELECT days, max_by(id, d), min_by(id, d), max_by(id, ts), min_by(id, ts), max_by(id, ntz), min_by(id, ntz), max_by(d, id), min_by(d, id), max_by(ts, id), min_by(ts, id), max_by(ntz, id), min_by(ntz, id), max_by(d, ts), min_by(d, ts), max_by(ts, ntz), min_by(ts, ntz) FROM times GROUP BY days;
SELECT max_by(d, d), min_by(d, d), max_by(d, ts), min_by(d, ts), max_by(d, ntz), min_by(d, ntz) FROM times;
SELECT max_by(id, d), min_by(id, d), max_by(id, f), min_by(id, f) FROM numbers WHERE d = 0 OR isnan(d) OR d IS NULL;
SELECT i, max_by(id, d), min_by(id, d), max_by(d, f), min_by(f, d) FROM numbers GROUP BY i;
SELECT max_by(id, nothing), min_by(nothing, id), max_by(nothing, nothing), min_by(NULL, id) FROM numbers;
SELECT k, max_by(i, id), min_by(i, id), max_by(NULL, id), max_by(id, i), min_by(id, i) FROM tame GROUP BY k;
SELECT k, max_by(id, z), min_by(id, z), max_by(z, 1), min_by(id, 'x') FROM tame GROUP BY k;
SELECT id, max_by(i, l), min_by(s, t) FROM tame GROUP BY id;
SELECT k, max_by(i, id) FILTER (WHERE id % 2 = 0), min_by(i, id) FILTER (WHERE id < 0), min_by(id, l) FILTER (WHERE b) FROM tame GROUP BY k;
SELECT max_by(i, id), min_by(k, id) FROM tame WHERE id < 0;
SELECT z, max_by(i, id), min_by(k, id) FROM tame WHERE id < 0 GROUP BY z;
SELECT max_by(id, s), min_by(id, n) FROM empty;
SELECT k, max_by(id, l), sum(DISTINCT i), count(DISTINCT z) FROM tame GROUP BY k;
SELECT k, max_by(DISTINCT i, l + i), min_by(DISTINCT i, i) FROM tame GROUP BY k;
SELECT k, max_by(i, id) + min_by(i, id), max(i), min(id) FROM tame GROUP BY k HAVING max_by(id, i) > 3;
SELECT str, max_by(str, id), min_by(bin, id), max_by(id, bin) FROM keys GROUP BY str;
SELECT k, z, max_by(id, n38), min_by(n38, id) FROM tame GROUP BY ROLLUP (k, z);
SELECT max_by(DISTINCT k, z), min_by(k, k || z) FROM tame;
