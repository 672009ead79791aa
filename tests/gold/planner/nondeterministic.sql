-- Random numbers with a seed, row numbers and indices of partitions are Spark's, in several partitions and chunks.
-- tables: numbers, tame, empty, small_files, batch_plus_one, raising
-- matrix: ansi=true,false ; aqe=true,false ; codegen=true,false
-- answers: by plan
-- set: spark.sql.files.maxPartitionBytes=10000 ; spark.sql.files.openCostInBytes=0

SELECT id, rand(3) AS r, randn(3) AS n, monotonically_increasing_id() AS m, spark_partition_id() AS p FROM small_files;
SELECT id, rand(0) AS r, randn(-7) AS n, rand(9223372036854775807) AS most, randn(-9223372036854775808) AS least FROM batch_plus_one;
SELECT id, rand(3), rand(3) AS same, rand(4), randn(4), randn(5) FROM range(0, 100000, 3, 7);
SELECT id, rand(5), monotonically_increasing_id(), spark_partition_id() FROM empty;
SELECT rand(5), monotonically_increasing_id() FROM range(0);
SELECT id, rand(CAST(NULL AS INT)) AS r, randn(NULL) AS n, rand(1 + 2) AS three FROM small_files;
SELECT id, randstr(5, 0), randstr(0, 1), randstr(100S, -3), randstr(3, 9223372036854775807) FROM small_files;
SELECT id, uniform(10, 20, 0), uniform(10L, 20, 1), uniform(1.5F, 2, 3), uniform(-1D, 1, 4), uniform(5S, 9S, 5) FROM small_files;
SELECT id FROM small_files WHERE rand(3) < 0.3;
SELECT id, n18 FROM small_files WHERE id % 3 = 1 AND id IS NOT NULL AND randn(3) > 0.5;
SELECT id FROM (SELECT id, rand(3) AS r FROM small_files) WHERE r < 0.3 AND id > 5;
SELECT id, n18 FROM small_files WHERE n18 > 0 AND rand(3) < 0.5;
SELECT id, floor(rand(3) * 10) AS f, 1 - rand(4) AS o, CAST(rand(5) * 100 AS int) AS c, round(randn(6), 2) AS r FROM small_files;
SELECT id, CASE WHEN rand(3) < 0.3 THEN 'a' WHEN id > 5 THEN 'b' END AS c, IF(rand(4) < 0.5, i, z) AS f FROM tame;
SELECT id, coalesce(rand(3), i), rand(3) * i AS left, rand(3) / 2 AS half, rand(4) % 0.25 AS rest, rand(5) > randn(6) AS b FROM tame;
SELECT id, rand(3) + randn(3) AS s, rand(3) BETWEEN 0.2 AND 0.6 AS b, nullif(round(rand(3), 1), 0.5) AS n FROM small_files;
SELECT m % 7 AS k, count(*), min(id), max(id) FROM (SELECT id, monotonically_increasing_id() AS m FROM small_files) GROUP BY 1;
SELECT a.id, a.r, b.r FROM (SELECT id, i, rand(3) AS r FROM small_files) a JOIN (SELECT i, rand(4) AS r FROM tame) b ON a.i = b.i;
SELECT id, rand(3) AS r FROM small_files UNION ALL SELECT id, rand(3) FROM tame;
SELECT id, r FROM (SELECT id, rand(3) AS r FROM small_files) TABLESAMPLE (30 PERCENT) REPEATABLE (5);
SELECT id FROM small_files ORDER BY rand(3), id LIMIT 10;
SELECT id, r, rand(3) AS other FROM (SELECT id, rand(3) AS r FROM small_files WHERE id % 2 = 0);
SELECT id, row_number() OVER (PARTITION BY p ORDER BY m) AS n FROM (SELECT id, spark_partition_id() AS p, monotonically_increasing_id() AS m FROM small_files);
-- Spark does not evaluate these for every row.
-- expect: partly not evaluated for every row
SELECT id, CASE WHEN id > 5 THEN rand(3) END AS r FROM small_files;
-- expect: partly not evaluated for every row
SELECT id, i + rand(3) AS r, coalesce(i, rand(3)) AS c FROM small_files;
-- expect: partly not evaluated for every row
SELECT id, id > 5 OR rand(3) < 0.5 AS r, rand(3) / (id + 1) AS q FROM small_files;
-- expect: partly before the last conjunct
SELECT id FROM small_files WHERE rand(3) < 0.5 AND id > 5;
-- expect: partly not supported
SELECT id FROM small_files WHERE id > 5 AND rand(3) < 0.5 AND rand(4) < 0.5;
-- expect: partly above a union
SELECT id, rand(3) FROM (SELECT id FROM small_files UNION ALL SELECT id FROM range(10));
-- expect: partly Rand
SELECT i, count(*), rand(3) AS r FROM tame GROUP BY i;
-- The seed of a UUID is another for every query.
SELECT count(DISTINCT u) AS n, count_if(u RLIKE '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$') AS m FROM (SELECT id, uuid() AS u FROM batch_plus_one);
