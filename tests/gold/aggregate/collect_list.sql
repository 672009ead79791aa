-- collect_list and array_agg: of rows in one task, whose order is that of the lists.
-- tables: numbers, tame, texts, times, keys, empty
-- matrix: ansi=true,false ; aqe=true,false ; batch=7

SELECT sort_array(collect_list(id)) AS l FROM tame WHERE id < 0;
SELECT collect_list(x), array_agg(x * 2), collect_list(CAST(x AS string)), collect_list(x > 3), collect_list(CAST(x AS decimal(9,2))), collect_list(nullif(x, 4)) FROM (SELECT id AS x FROM range(0, 9, 1, 1));
SELECT g, collect_list(x), array_agg(CAST(x AS double)), collect_list(CAST(x AS tinyint)), collect_list(CAST(x AS smallint)), collect_list(CAST(x AS float)), collect_list(date_add(DATE '2020-02-27', CAST(x AS int))), collect_list(timestamp_seconds(x)) FROM (SELECT id % 3 AS g, id AS x FROM range(0, 50, 1, 1)) GROUP BY g;
SELECT g, collect_list(s), collect_list(encode(s, 'UTF-8')), collect_list(x * INTERVAL '1' SECOND), collect_list(x * 1.5D) FROM (SELECT id % 3 AS g, CAST(id AS int) AS x, nullif(repeat('ab', CAST(id % 5 AS int)), 'abab') AS s FROM range(0, 50, 1, 1)) GROUP BY g;
-- An expression over a list stays in Spark, above the aggregation.
SELECT k, size(collect_list(i)) AS c, array_join(sort_array(collect_list(CAST(i AS string))), ',') AS l, sum(i) + 1 AS s FROM tame GROUP BY k;
-- expect: partly
SELECT k, sort_array(collect_list(d)), sort_array(collect_list(n9)), sort_array(collect_list(n18)), sort_array(collect_list(b)) FROM tame GROUP BY k;
-- expect: partly
SELECT b2, sort_array(collect_list(d)), sort_array(collect_list(f)), sort_array(collect_list(l)), sort_array(collect_list(nothing)) FROM numbers GROUP BY b2;
SELECT flag, sort_array(collect_list(s)), sort_array(collect_list(bin)), concat_ws('-', sort_array(collect_list(s2))) FROM texts GROUP BY flag;
SELECT days, sort_array(collect_list(d)), sort_array(collect_list(ts)), sort_array(collect_list(ntz)) FROM times GROUP BY days;
SELECT k, sort_array(collect_list(i) FILTER (WHERE id % 2 = 0)), collect_list(i) FILTER (WHERE id < 0), count(*) FROM tame GROUP BY k;
SELECT z, collect_list(id), array_agg(k) FROM tame WHERE id < 0 GROUP BY z;
SELECT collect_list(id), collect_list(n), collect_list(d) FROM empty;
SELECT k, size(c) FROM (SELECT k, collect_list(i) AS c FROM tame GROUP BY k) WHERE k IS NOT NULL ORDER BY k LIMIT 3;
SELECT a.k, size(a.c), b.s FROM (SELECT k, collect_list(i) AS c FROM tame GROUP BY k) a JOIN (SELECT k, sum(i) AS s FROM tame GROUP BY k) b ON a.k = b.k;
SELECT /*+ BROADCAST(a) */ a.k, size(a.c), b.i FROM (SELECT k, collect_list(i) AS c FROM tame GROUP BY k) a JOIN tame b ON a.k = b.k;
-- Beside distinct values rows come in another order, which must not be read.
SELECT size(collect_list(DISTINCT i)), count(DISTINCT k) FROM tame;
SELECT k, array_sort(collect_list(i)), sort_array(collect_list(n9), false), size(collect_list(CAST(i AS string))), count(DISTINCT i % 3), sum(i) FROM tame GROUP BY k;
SELECT array_sort(collect_list(n)), count(DISTINCT id) FROM empty;
-- expect[aqe=true]: partly collect_list
-- expect[aqe=false]: declined collect_list
SELECT transform(collect_list(i), x -> 1), count(DISTINCT k) FROM tame;
-- expect: partly collect_list\(decimal\(38,10\)
SELECT size(collect_list(n38)) FROM numbers;
