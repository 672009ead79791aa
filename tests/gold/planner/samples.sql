-- A sample keeps the rows that Spark keeps: its random numbers follow the partition of a row and its position in it.
-- tables: numbers, tame, empty, small_files, batch_plus_one, raising
-- matrix: ansi=true,false ; aqe=true,false ; codegen=true,false
-- answers: by plan
-- set: spark.sql.files.maxPartitionBytes=10000 ; spark.sql.files.openCostInBytes=0

SELECT id, s FROM (SELECT id, cast(i AS string) AS s FROM numbers) TABLESAMPLE (30 PERCENT) REPEATABLE (5);
SELECT id, n18, d, b FROM small_files TABLESAMPLE (30 PERCENT) REPEATABLE (5);
SELECT id FROM small_files TABLESAMPLE (0 PERCENT) REPEATABLE (5);
SELECT id FROM small_files TABLESAMPLE (100 PERCENT) REPEATABLE (5);
SELECT id FROM batch_plus_one TABLESAMPLE (0.01 PERCENT) REPEATABLE (5);
SELECT id, n FROM batch_plus_one TABLESAMPLE (99.99 PERCENT) REPEATABLE (0);
SELECT g, count(*), sum(n) FROM batch_plus_one TABLESAMPLE (BUCKET 1 OUT OF 3) REPEATABLE (9) GROUP BY g;
SELECT id, s, d FROM empty TABLESAMPLE (50 PERCENT) REPEATABLE (5);
SELECT id FROM (SELECT id FROM range(1)) TABLESAMPLE (50 PERCENT) REPEATABLE (5);
SELECT id FROM (SELECT id FROM range(0)) TABLESAMPLE (50 PERCENT) REPEATABLE (5);
SELECT id FROM (SELECT id FROM range(0, 200000, 3, 7)) TABLESAMPLE (1 PERCENT) REPEATABLE (5);
SELECT id FROM (SELECT id FROM small_files TABLESAMPLE (50 PERCENT) REPEATABLE (1)) TABLESAMPLE (50 PERCENT) REPEATABLE (1);
SELECT id FROM (SELECT id FROM small_files WHERE id % 3 = 1) TABLESAMPLE (50 PERCENT) REPEATABLE (5) WHERE id % 2 = 0;
-- The partitions of a sample are those of its own input, below a union and a join as well.
SELECT id FROM small_files TABLESAMPLE (50 PERCENT) REPEATABLE (1) UNION ALL SELECT id FROM small_files TABLESAMPLE (50 PERCENT) REPEATABLE (1);
-- expect: partly a sample of a union is not supported
SELECT id FROM (SELECT id FROM small_files UNION ALL SELECT id FROM range(100)) TABLESAMPLE (50 PERCENT) REPEATABLE (1);
SELECT a.id, b.id FROM small_files TABLESAMPLE (50 PERCENT) REPEATABLE (1) a JOIN tame TABLESAMPLE (50 PERCENT) REPEATABLE (2) b ON a.i = b.i;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM small_files TABLESAMPLE (50 PERCENT) REPEATABLE (1) a JOIN small_files TABLESAMPLE (50 PERCENT) REPEATABLE (2) b ON a.id = b.id;
SELECT a.id, b.id FROM (SELECT id FROM range(0, 40, 1, 4)) TABLESAMPLE (50 PERCENT) REPEATABLE (1) a CROSS JOIN (SELECT id FROM range(0, 30, 1, 3)) TABLESAMPLE (50 PERCENT) REPEATABLE (1) b;
-- A sample counts the rows without the NULLs that a filter below it drops, though the join would drop them too.
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM (SELECT id, g FROM batch_plus_one WHERE g IS NOT NULL) TABLESAMPLE (1 PERCENT) REPEATABLE (5) a JOIN range(1000) b ON a.g = b.id;
-- A row that the sample drops is not evaluated above it.
SELECT k, 100 / a AS q FROM raising TABLESAMPLE (30 PERCENT) REPEATABLE (4) WHERE k < 5 OR k > 8;
-- Several matches of a row come in another order: the join stays in Spark.
-- expect: partly Sample above depends on the placement of the rows
SELECT id FROM (SELECT a.id, b.i FROM tame a JOIN tame b ON a.z = b.z) TABLESAMPLE (10 PERCENT) REPEATABLE (1);
-- expect: partly Sample above depends on the placement of the rows
SELECT x, y FROM (SELECT /*+ BROADCAST(b) */ a.id AS x, b.id AS y FROM tame a JOIN tame b ON a.z = b.z) TABLESAMPLE (10 PERCENT) REPEATABLE (1);
-- expect: partly Sample above depends on the placement of the rows
SELECT x, y FROM (SELECT /*+ BROADCAST(b) */ a.id AS x, b.id AS y FROM tame a LEFT JOIN tame b ON a.z = b.z AND a.id < b.id) TABLESAMPLE (10 PERCENT) REPEATABLE (1);
SELECT id FROM (SELECT /*+ BROADCAST(b) */ a.id FROM tame a LEFT SEMI JOIN tame b ON a.z = b.z) TABLESAMPLE (10 PERCENT) REPEATABLE (1);
-- expect: partly Sample above depends on the placement of the rows
SELECT x, y FROM (SELECT /*+ BROADCAST(b) */ a.id AS x, b.id AS y FROM tame a JOIN tame b ON a.z < b.z) TABLESAMPLE (1 PERCENT) REPEATABLE (1);
-- expect: partly Sample above depends on the placement of the rows
SELECT k FROM (SELECT k, count(*) FROM tame GROUP BY k) TABLESAMPLE (50 PERCENT) REPEATABLE (1);
-- expect: partly Sample above depends on the placement of the rows
SELECT id FROM (SELECT id FROM numbers ORDER BY id) TABLESAMPLE (50 PERCENT) REPEATABLE (1);
