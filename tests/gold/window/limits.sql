-- The first rows of every partition by a rank: Spark cuts them off below the window, twice.
-- tables: keys, tame, batch_plus_one
-- matrix: ansi=true ; aqe=true,false ; batch=7

SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM tame) WHERE n <= 3;
SELECT * FROM (SELECT id, k, z, rank() OVER (PARTITION BY k ORDER BY z DESC) AS n FROM tame) WHERE n = 1;
SELECT * FROM (SELECT id, k, z, dense_rank() OVER (PARTITION BY k ORDER BY z NULLS LAST) AS n FROM tame) WHERE n < 3;
SELECT * FROM (SELECT id, d, row_number() OVER (PARTITION BY d ORDER BY id) AS n FROM keys) WHERE n < 2;
SELECT * FROM (SELECT id, d, rank() OVER (ORDER BY d DESC) AS n FROM keys) WHERE n <= 100;
SELECT * FROM (SELECT id, n, row_number() OVER (ORDER BY n) AS r FROM batch_plus_one) WHERE r <= 10;
-- set: spark.sql.optimizer.windowGroupLimitThreshold=-1
SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM tame) WHERE n <= 3;
