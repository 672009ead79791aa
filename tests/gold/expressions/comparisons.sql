-- Comparisons as values (not only as filters), on each type and across types.
-- tables: numbers, texts, times, clocks
-- matrix: ansi=true ; tz=America/St_Johns

SELECT id, i = l, i < l, i <= l, i > l, i >= l, i <> l, i <=> l FROM numbers;
SELECT id, t = s, s < i, t <=> i, s >= l FROM numbers;
SELECT id, i = d, l = d, l < f, i > n9, l >= n18 FROM numbers;
SELECT id, n9 = n38, n18 < n380, n9 <=> n18, n380 <> n38 FROM numbers;
SELECT id, n9 > d, n38 = d FROM numbers;
SELECT id, s = s2, s < s2, s <= s2, s > s2, s >= s2, s <> s2, s <=> s2 FROM texts;
SELECT id, flag = 'R', flag < 'N', flag <=> 'A', flag <> s FROM texts;
SELECT id, bin = X'00', bin < X'80', bin <=> NULL FROM texts;
SELECT id, d = d2, d < d2, d <=> d2, d >= DATE'1582-10-10' FROM times;
SELECT id, ts = ts2, ts < ts2, ts <=> ts2, ts > TIMESTAMP'2011-11-06 00:30:00' FROM times;
SELECT id, ntz = TIMESTAMP_NTZ'1970-01-01 00:00:00', ntz < TIMESTAMP_NTZ'1600-01-01 00:00:00' FROM times;
-- expect: any
SELECT id, d = ts, ts < ntz, d > ntz FROM times;
SELECT id, i BETWEEN -1 AND 1, l NOT BETWEEN 0 AND 42, d BETWEEN -1 AND double('NaN') FROM numbers;
-- expect: any
SELECT id, greatest(i, s), least(i, s) FROM numbers;
SELECT id, t = t2, t < t2, t <= t2, t > t2, t >= t2, t <> t2, t <=> t2, t = TIME'12:34:56.789012', TIME'12:00:00' > t2, greatest(t, t2), least(t, TIME'10:00:00', t2) FROM clocks;
SELECT id, t IN (t2, TIME'00:00:00'), t IS NULL, t IS NOT NULL, coalesce(t, t2), if(t > t2, t, t2), nullif(t, t2), CASE WHEN t IS NULL THEN TIME'01:02:03' WHEN id > 5 THEN t2 END, nvl2(t, t2, t) FROM clocks;
