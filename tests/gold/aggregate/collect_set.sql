-- collect_set: distinct values in the order of a hash set of Scala, which depends on the sizes of partial sets.
-- tables: numbers, tame, texts, times, keys, empty
-- matrix: ansi=true,false ; aqe=true,false ; batch=7

SELECT collect_set(t), collect_set(s), collect_set(i), collect_set(l), collect_set(b), collect_set(nothing), collect_set(id) FROM numbers;
SELECT collect_set(f), collect_set(d), collect_set(d2), collect_set(d * 1.1D), collect_set(CAST(d AS float)) FROM numbers;
SELECT collect_set(n9), collect_set(n18), collect_set(CAST(id AS decimal(3,0))), collect_set(CAST(id / 7 AS decimal(18,15))), collect_set(CAST(id / 70 AS decimal(17,16))), collect_set(CAST(id * 1e14D / 7 AS decimal(18,2))), collect_set(CAST(id * 1000003 / 13 AS decimal(18,8))) FROM numbers;
SELECT collect_set(s), collect_set(s2), collect_set(bin), collect_set(flag), collect_set(upper(s)), collect_set(encode(s, 'UTF-8')) FROM texts;
SELECT collect_set(d), collect_set(ts), collect_set(ntz), collect_set(days) FROM times;
SELECT b2, collect_set(t), collect_set(s), collect_set(i), collect_set(l), collect_set(b), collect_set(id), count(*) FROM numbers GROUP BY b2;
SELECT b2, collect_set(f), collect_set(d), collect_set(n9), collect_set(n18), sum(id) FROM numbers GROUP BY b2;
SELECT t, collect_set(d), collect_set(f), collect_set(l), collect_set(id) FROM numbers GROUP BY t;
SELECT flag, collect_set(s), collect_set(s2), collect_set(bin) FROM texts GROUP BY flag;
SELECT days, collect_set(d), collect_set(ts), collect_set(ntz) FROM times GROUP BY days;
SELECT i, collect_set(id), collect_set(d2), collect_set(n18) FROM numbers GROUP BY i;
-- Groups of one row, of NULLs alone, of no row.
SELECT id, collect_set(d), collect_set(n9), collect_set(nothing) FROM numbers GROUP BY id;
SELECT nothing, collect_set(l), collect_set(nothing) FROM numbers GROUP BY nothing;
SELECT collect_set(id), collect_set(n), collect_set(d) FROM empty;
SELECT id, collect_set(n) FROM empty GROUP BY id;
SELECT collect_set(x) FROM (SELECT id AS x FROM range(0, 1, 1, 1));
-- The table of a set doubles at 12, 24, 48, … elements.
SELECT g, collect_set(x), collect_set(x * 17), collect_set(x * 4294967297), collect_set(CAST(x AS string)), collect_set(-x) FROM (SELECT CAST(sqrt(id * 2) AS int) AS g, id AS x FROM range(0, 3000, 1, 1)) GROUP BY g;
SELECT g, collect_set(x % 11), collect_set(x % 12), collect_set(x % 23), collect_set(x % 24 * 16) FROM (SELECT id % 3 AS g, id * 65537 AS x FROM range(0, 500, 1, 1)) GROUP BY g;
-- Longs of one hash are in the order of the rows.
SELECT collect_set(x), collect_set(x * -1) FROM (SELECT (id % 40) * 4294967297 * (1 - 2 * (id % 2)) AS x FROM range(0, 100, 1, 1));
-- Several partial sets, of different sizes.
SELECT collect_set(id % 12), collect_set(id % 25 * 16), collect_set(CAST(id AS string)), collect_set(CAST(id % 13 AS double) / 8) FROM range(0, 1000, 1, 4);
SELECT id % 5, collect_set(id), collect_set(id % 100 * 16), collect_set(CAST(id % 13 AS decimal(9,3))) FROM range(0, 1000, 1, 4) GROUP BY id % 5;
-- set: spark.sql.shuffle.partitions=1
SELECT g, collect_set(x), collect_set(x * 65536) FROM (SELECT id % 40 AS g, id AS x FROM range(0, 2000, 1, 4)) GROUP BY g;
-- Many groups: Spark sorts the sets after 128 of them.
-- set: spark.sql.shuffle.partitions=1
SELECT g, collect_set(x), collect_set(x * 65536) FROM (SELECT id % 300 AS g, id AS x FROM range(0, 9000, 1, 1)) GROUP BY g;
-- set: spark.sql.shuffle.partitions=1
SELECT g, collect_set(x), collect_set(x * 65536) FROM (SELECT id % 300 AS g, id AS x FROM range(0, 9000, 1, 4)) GROUP BY g;
-- set: spark.sql.shuffle.partitions=1
SELECT g, collect_set(x * 65536), collect_set(x * 4096) FROM (SELECT (id * 7919) % 1000 % (id % 5 * 50 + 100) AS g, id AS x FROM range(0, 5000, 1, 4)) GROUP BY g;
SELECT g, collect_set(x) FROM (SELECT id % 200 AS g, (id DIV 150) * 4294967297 AS x FROM range(0, 3000, 1, 1)) GROUP BY g;
SELECT g, collect_set(x), collect_set(IF(x % 4 = 0, 0D, -0D)) FROM (SELECT id % 200 AS g, (id DIV 150) * 4294967297 * (1 - 2 * (id % 3)) AS x FROM range(0, 3000, 1, 1)) GROUP BY g;
-- set: spark.sql.shuffle.partitions=1
SELECT g, collect_set(x) FROM (SELECT id % 160 AS g, (id DIV 150) * 4294967297 AS x FROM range(0, 3000, 1, 4)) GROUP BY g;
-- A set has all values of its task, also if the aggregation would not reduce the rows.
-- set: spark.pysparkPipeline.aggregate.passThroughRows=100 ; spark.pysparkPipeline.aggregate.passThroughRatio=1
SELECT g, collect_set(x), collect_set(CAST(x AS string)) FROM (SELECT id % 100 AS g, id AS x FROM range(0, 3000, 1, 1)) GROUP BY g;
SELECT g, collect_set(x) FILTER (WHERE x % 2 = 0), collect_set(x) FILTER (WHERE x < 0), collect_set(x), collect_list(x) FROM (SELECT id % 3 AS g, id * 16 AS x FROM range(0, 60, 1, 1)) GROUP BY g;
SELECT g, collect_set(DISTINCT x % 30 * 16), collect_set(x * INTERVAL '1' SECOND) FROM (SELECT id % 3 AS g, CAST(id AS int) AS x FROM range(0, 60, 1, 1)) GROUP BY g;
-- expect: any
SELECT g, collect_set(x % 30 * 16), count(DISTINCT x % 7) FROM (SELECT id % 3 AS g, id AS x FROM range(0, 600, 1, 1)) GROUP BY g;
-- Beside distinct values rows come in another order, which must not be read.
SELECT k, array_sort(collect_set(i)), sort_array(collect_set(CAST(i AS string)), false), size(collect_set(n9)), count(DISTINCT i % 3), sum(i) FROM tame GROUP BY k;
SELECT concat_ws(',', array_sort(collect_set(s))), size(collect_set(s2)), sort_array(collect_set(flag)), count(DISTINCT id % 7) FROM texts;
SELECT g, array_sort(collect_set(x % 30 * 16), (a, b) -> CASE WHEN a < b THEN 1 WHEN a > b THEN -1 ELSE 0 END), count(DISTINCT x % 7) FROM (SELECT id % 200 AS g, id AS x FROM range(0, 6000, 1, 4)) GROUP BY g;
SELECT array_sort(collect_set(n)), count(DISTINCT id) FROM empty;
SELECT id, array_sort(collect_set(n)), count(DISTINCT d) FROM empty GROUP BY id;
-- expect: declined collect_set
SELECT g, array_sort(collect_set(x % 30 * 16), (a, b) -> CAST(a % 2 - b % 2 AS int)), count(DISTINCT x % 7) FROM (SELECT id % 3 AS g, id AS x FROM range(0, 600, 1, 1)) GROUP BY g;
-- expect[aqe=true]: partly collect_set
-- expect[aqe=false]: declined collect_set
SELECT array_sort(collect_set(d)), count(DISTINCT i) FROM tame;
-- NaN: different ones in Spark 4.1, one since 4.3.
SELECT collect_set(d), collect_set(f), collect_set(d2) FROM numbers WHERE isnan(d) OR d = 0 OR f = 0;
-- expect[spark=4.1]: partly collect_set
SELECT collect_set(CASE WHEN id % 2 = 0 THEN double('NaN') ELSE id END) FROM range(0, 9, 1, 1);
-- expect[spark=4.1]: partly collect_set
SELECT collect_set(float('NaN')), collect_set(-0.0D), collect_set(1.5D) FROM range(0, 9, 1, 1);
-- Both zeros: the first in Spark 4.1, 0.0 since 4.3.
SELECT collect_set(IF(id % 2 = 1, 0D, -0D) * id), collect_set(IF(id % 2 = 0, 0D, -0D) * (id + 1)), collect_set(CAST(IF(id % 2 = 1, 0D, -0D) * id AS float)) FROM range(0, 9, 1, 1);
-- An expression over a set stays in Spark, above the aggregation.
SELECT k, size(collect_set(i)) AS c, array_join(collect_set(CAST(i AS string)), ',') AS l, sum(i) + 1 AS s FROM tame GROUP BY k;
-- expect: partly collect_set\(decimal\(38,10\)
SELECT size(collect_set(n38)) FROM numbers;
-- expect: partly collect_set
-- set: spark.sql.objectHashAggregate.sortBased.fallbackThreshold=7
SELECT k, collect_set(i) FROM tame GROUP BY k;
-- expect: partly window function collect_set is not supported
SELECT id, collect_set(i) OVER (PARTITION BY k) AS a FROM tame;
-- Rows that a filter drops have groups, too.
SELECT g, collect_set(x) FILTER (WHERE g <> 127) FROM (SELECT id % 200 AS g, (id DIV 150) * 4294967297 AS x FROM range(0, 3000, 1, 1)) GROUP BY g;
SELECT g, collect_set(x) FILTER (WHERE id > 140 AND id <> 127) FROM (SELECT id, id % 200 AS g, (id DIV 150) * 4294967297 AS x FROM range(0, 3000, 1, 1)) GROUP BY g;
SELECT g, collect_set(x) FILTER (WHERE id < 128), collect_set(x) FROM (SELECT id, id % 200 AS g, (id DIV 150) * 4294967297 AS x FROM range(0, 3000, 1, 1)) GROUP BY g;
