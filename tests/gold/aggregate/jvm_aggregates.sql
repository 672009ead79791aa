-- Aggregate functions that Spark's own code computes on buffers in the executor's JVM: sketches, mode of any of several values.
-- tables: numbers, tame, texts, times, keys, empty, nests
-- matrix: ansi=true,false ; aqe=true,false ; batch=7,65536
-- set: spark.pysparkPipeline.jvmExpressions=true ; spark.sql.shuffle.partitions=1

SELECT hll_sketch_agg(i), hll_sketch_agg(l, 5), hll_sketch_agg(CAST(s AS int), 7), hll_sketch_estimate(hll_sketch_agg(id)) FROM numbers;
SELECT hll_sketch_agg(s), hll_sketch_estimate(hll_sketch_agg(bin, 4)), theta_sketch_agg(s2), theta_sketch_estimate(theta_sketch_agg(flag, 4)) FROM texts;
SELECT flag, hll_sketch_agg(s), theta_sketch_agg(s2, 5), approx_top_k(s, 2), mode(s), mode(bin), count(*) FROM texts GROUP BY flag;
SELECT mode(t), mode(s), mode(l), mode(d), mode(f), mode(n9), mode(n18), mode(b), mode(nothing) FROM numbers;
SELECT b2, mode(t), mode(i), mode(l), mode(d2), mode(n18), sum(id), max(l) FROM numbers GROUP BY b2;
SELECT days, mode(d), mode(ts), mode(ntz), mode(ts, false) FROM times GROUP BY days;
SELECT k, mode(i), mode(i, true), count(z) FROM tame GROUP BY k;
SELECT kll_sketch_agg_bigint(l), kll_sketch_agg_double(d), kll_sketch_agg_float(f), kll_sketch_get_n_bigint(kll_sketch_agg_bigint(id)) FROM numbers WHERE id < 100;
SELECT b, kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(id), 0.5D), kll_sketch_to_string_bigint(kll_sketch_agg_bigint(i)) FROM numbers GROUP BY b;
SELECT approx_top_k(i, 3), approx_top_k(k, 2, 10), approx_top_k_estimate(approx_top_k_accumulate(z), 4) FROM tame;
SELECT approx_top_k_estimate(approx_top_k_combine(x, 30), 5) FROM (SELECT k, approx_top_k_accumulate(z, 20) AS x FROM tame WHERE k = 'x' GROUP BY k);
-- Functions that the engine has, in a form that it has not: with arguments of other types.
SELECT k, percentile(i, 0.5D, id), collect_set(m), collect_list(n38) FROM (SELECT k, i, id, struct(i, z) AS m, CAST(id AS decimal(30,2)) / 7 AS n38 FROM tame) GROUP BY k;
SELECT i % 3, mode(at), mode(st), collect_set(ast) FROM nests GROUP BY i % 3;
-- More groups than Spark hashes, in one task and in several.
SELECT g, mode(x % 5), mode(x), hll_sketch_agg(x, 6), theta_sketch_agg(x, 4) FROM (SELECT id % 300 AS g, id DIV 7 AS x FROM range(0, 9000, 1, 1)) GROUP BY g;
SELECT g, mode(x % 5), mode(x * 65536), hll_sketch_agg(x, 6), theta_sketch_agg(x, 4), count(*) FROM (SELECT id % 300 AS g, id DIV 7 AS x FROM range(0, 9000, 1, 4)) GROUP BY g;
SELECT hll_sketch_agg(x), hll_sketch_agg(x % 1000, 8), mode(x % 100), approx_top_k(x % 100) FROM (SELECT id AS x FROM range(0, 20000, 1, 4));
SELECT g, theta_sketch_agg(x, 4), mode(x % 3 DIV 2), hll_sketch_estimate(hll_sketch_agg(x % 200, 10)) FROM (SELECT (id * 7919) % 1000 % (id % 5 * 50 + 100) AS g, id AS x FROM range(0, 5000, 1, 4)) GROUP BY g;
-- No row, no value, one row a group, no group.
SELECT mode(id), hll_sketch_agg(id), theta_sketch_agg(id), approx_top_k(id), kll_sketch_agg_bigint(id) FROM empty;
SELECT id, mode(n), hll_sketch_agg(id) FROM empty GROUP BY id;
SELECT id, mode(i), hll_sketch_agg(i), theta_sketch_agg(l), approx_top_k(i) FROM numbers GROUP BY id;
SELECT nothing, mode(nothing), mode(l) FROM numbers GROUP BY nothing;
-- Above joins and below other aggregations, which read the results.
SELECT a.k, mode(b.z), hll_sketch_estimate(hll_sketch_agg(b.id)) FROM tame a JOIN tame b ON a.k = b.k GROUP BY a.k ORDER BY 1 LIMIT 5;
SELECT m, count(*) FROM (SELECT k, mode(z) AS m FROM tame GROUP BY k) GROUP BY m;
SELECT hll_sketch_estimate(hll_union(a, b)) FROM (SELECT hll_sketch_agg(i) AS a, hll_sketch_agg(id) AS b FROM numbers);
SELECT theta_sketch_estimate(theta_intersection_agg(x)), theta_sketch_estimate(theta_union_agg(x)) FROM (SELECT k, theta_sketch_agg(id) AS x FROM tame GROUP BY k);
-- Filters: rows that do not pass count as rows of their group where Spark begins to sort.
SELECT k, mode(i) FILTER (WHERE z > 0), mode(i), hll_sketch_agg(id) FILTER (WHERE z < 0), count(*) FILTER (WHERE z > 0) FROM tame GROUP BY k;
SELECT mode(i) FILTER (WHERE id < 0), hll_sketch_agg(i, 5) FILTER (WHERE b), theta_sketch_agg(id) FILTER (WHERE length(to_csv(struct(id))) = 1) FROM numbers;
SELECT g, mode(x % 5) FILTER (WHERE x % 3 = 0), mode(x) FILTER (WHERE x > 500), hll_sketch_agg(x, 6) FILTER (WHERE g < 40), theta_sketch_agg(x, 4) FILTER (WHERE g > 200) FROM (SELECT id % 300 AS g, id DIV 7 AS x FROM range(0, 9000, 1, 1)) GROUP BY g;
SELECT g, mode(x % 5) FILTER (WHERE g <> 127), mode(x % 7) FILTER (WHERE id <> 127), mode(x) FILTER (WHERE id < 0) FROM (SELECT id, id % 129 AS g, id DIV 7 AS x FROM range(0, 900, 1, 1)) GROUP BY g;
-- What stays in Spark: distinct values, and functions beside those of distinct values.
-- expect: partly hll_sketch_agg is not supported
SELECT k, hll_sketch_agg(DISTINCT id) FROM tame GROUP BY k;
-- expect: partly mode\(int\) with reverseOpt=null is not supported
SELECT t.id, m, c FROM tame t JOIN (SELECT k, mode(i) AS m, count(DISTINCT z) AS c FROM tame GROUP BY k) a ON t.k = a.k;
-- Errors of rows and of merged sketches.
-- expect: error HLL_INVALID_INPUT_SKETCH_BUFFER
SELECT k, hll_union_agg(CAST(k AS binary)) FROM tame GROUP BY k;
-- expect: error HLL_UNION_DIFFERENT_LG_K
SELECT hll_union_agg(x) FROM (SELECT hll_sketch_agg(id, 10) AS x FROM tame UNION ALL SELECT hll_sketch_agg(id, 12) FROM tame);
