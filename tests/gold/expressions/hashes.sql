-- xxhash64 and hash of every type: NULL, NaN, ±0, both sizes of decimals, strings of every length, several columns, constants.
-- tables: tame, numbers, texts, times, keys, clocks

SELECT id, xxhash64(b), xxhash64(t), xxhash64(s), xxhash64(i), xxhash64(l) FROM numbers;
SELECT id, xxhash64(f), xxhash64(d), xxhash64(-d) FROM numbers;
SELECT id, xxhash64(n9), xxhash64(n18), xxhash64(n38), xxhash64(n380) FROM numbers;
SELECT id, xxhash64(s), xxhash64(bin), xxhash64(s, s2, flag), xxhash64(concat(s, s2, s, s2, s)) FROM texts;
SELECT id, xxhash64(d), xxhash64(ts), xxhash64(ntz) FROM times;
SELECT id, xxhash64(nothing), xxhash64(NULL), xxhash64(nothing, i, NULL) FROM numbers;
SELECT id, xxhash64(b, t, s, i, l, f, d, n9, n18, n38, str, bin, dt, ts) FROM keys;
SELECT id FROM keys WHERE xxhash64(str) % 3 = 0 AND xxhash64(str, i) > 0;
SELECT xxhash64(k) % 5 AS bucket, count(*), sum(i) FROM tame GROUP BY xxhash64(k) % 5;
SELECT id, xxhash64(1, 'a', id), xxhash64('a') = xxhash64(k) FROM tame;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, xxhash64(i / z) FROM tame;
SELECT id, hash(b), hash(t), hash(s), hash(i), hash(l) FROM numbers;
SELECT id, hash(f), hash(d), hash(-d) FROM numbers;
SELECT id, hash(n9), hash(n18), hash(n38), hash(n380) FROM numbers;
SELECT id, hash(s), hash(bin), hash(s, s2, flag), hash(concat(s, s2, s, s2, s)) FROM texts;
SELECT id, hash(d), hash(ts), hash(ntz) FROM times;
SELECT id, hash(nothing), hash(NULL), hash(nothing, i, NULL) FROM numbers;
SELECT id, hash(b, t, s, i, l, f, d, n9, n18, n38, str, bin, dt, ts) FROM keys;
SELECT id FROM keys WHERE hash(str) % 3 = 0 AND hash(str, i) > 0;
SELECT hash(k) % 5 AS bucket, count(*), sum(i) FROM tame GROUP BY hash(k) % 5;
SELECT id, hash(1, 'a', id), hash('a') = hash(k) FROM tame;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, hash(i / z) FROM tame;
SELECT id, hash(t), xxhash64(t), hash(t, id, t2), xxhash64('x', t), hash(TIME'12:00:00') FROM clocks;
