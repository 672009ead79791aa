-- Bitmaps and count-min sketches: Spark's very bytes.
-- tables: tame, texts, numbers, times, empty, batch_plus_one
-- matrix: ansi=true,false ; batch=7,65536

SELECT bitmap_construct_agg(id), bitmap_construct_agg(bitmap_bit_position(id * 7919)), bitmap_construct_agg(32767), bitmap_construct_agg(NULL) FROM tame;
SELECT k, bitmap_construct_agg(id), bitmap_construct_agg(i), count(*), sum(i) FROM tame WHERE i >= 0 GROUP BY k;
SELECT k, bitmap_construct_agg(id) FILTER (WHERE id > 100), bitmap_count(bitmap_construct_agg(z)) FROM tame GROUP BY k;
SELECT bitmap_bucket_number(id) AS b, bitmap_count(bitmap_construct_agg(bitmap_bit_position(id))) AS c FROM batch_plus_one GROUP BY 1;
SELECT bitmap_or_agg(bin), bitmap_and_agg(bin), bitmap_or_agg(X''), bitmap_and_agg(X'FF00'), bitmap_or_agg(CAST(NULL AS binary)), bitmap_and_agg(CAST(NULL AS binary)) FROM texts;
SELECT flag, bitmap_or_agg(bin), bitmap_and_agg(bin), bitmap_and_agg(CAST(s AS binary)), min(s) FROM texts GROUP BY flag;
SELECT s, bitmap_or_agg(bin), bitmap_and_agg(CAST(s2 AS binary)) FROM texts GROUP BY s;
SELECT bitmap_or_agg(m), bitmap_and_agg(m) FROM (SELECT k, bitmap_construct_agg(id) AS m FROM tame GROUP BY k);
SELECT bitmap_construct_agg(id), bitmap_or_agg(CAST(s AS binary)), bitmap_and_agg(CAST(s AS binary)), count_min_sketch(id, 0.5D, 0.5D, 1) FROM empty;
SELECT k, bitmap_construct_agg(id) FROM tame WHERE id < 0 GROUP BY k;
-- Bytes after the first 4096 do not count.
SELECT bitmap_or_agg(CAST(repeat('a', 5000) AS binary)), bitmap_and_agg(CAST(repeat(s, 5000) AS binary)) FROM texts WHERE length(s) < 5;
-- expect: error INVALID_BITMAP_POSITION
SELECT bitmap_construct_agg(id + 32600) FROM tame;
-- expect: error INVALID_BITMAP_POSITION
SELECT k, bitmap_construct_agg(-1 - id) FROM tame GROUP BY k;
SELECT count_min_sketch(t, 0.5D, 0.5D, 1), count_min_sketch(s, 0.1D, 0.9D, -7), count_min_sketch(i, 0.01D, 0.99D, 2147483647), count_min_sketch(l, 0.75D, 0.9999D, 0), count_min_sketch(CAST(NULL AS int), 1D, 0.1D, 3) FROM numbers;
SELECT b2, count_min_sketch(i, 0.3D, 0.8D, 11), count_min_sketch(l, 3.5D, 0.75D, -2147483648), sum(i) FROM numbers GROUP BY b2;
SELECT count_min_sketch(s, 0.1D, 0.9D, 5), count_min_sketch(s2, 0.05D, 0.95D, 42), count_min_sketch(bin, 0.2D, 0.99D, 42) FROM texts;
SELECT flag, count_min_sketch(s, 0.5D, 0.5D, 5), count_min_sketch(bin, 0.2D, 0.99D, 42), min(s) FROM texts GROUP BY flag;
SELECT g, count_min_sketch(id, 0.1D, 0.9D, 7), count_min_sketch(CAST(n AS string), 0.1D, 0.9D, 7) FROM batch_plus_one GROUP BY g;
SELECT k, count_min_sketch(id, 0.5D, 0.5D, 1) FILTER (WHERE id > 100), count_min_sketch(id % 5, 0.5D, 0.5D, 1) FROM tame GROUP BY k;
-- expect: partly count_min_sketch
SELECT length(count_min_sketch(id, 0.001D, 0.5D, 1)) FROM tame;
