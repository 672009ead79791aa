-- A row lies in the partition where Spark would have put it: Murmur3, seed 42, over normalised values, of each type.
-- tables: numbers, texts, times
-- matrix: ansi=true ; tz=Asia/Kathmandu
-- expect: partly

SELECT spark_partition_id() AS p, id, b FROM (SELECT /*+ REPARTITION(5, b) */ id, b FROM numbers);
SELECT spark_partition_id() AS p, id, t FROM (SELECT /*+ REPARTITION(5, t) */ id, t FROM numbers);
SELECT spark_partition_id() AS p, id, s FROM (SELECT /*+ REPARTITION(5, s) */ id, s FROM numbers);
SELECT spark_partition_id() AS p, id, i FROM (SELECT /*+ REPARTITION(5, i) */ id, i FROM numbers);
SELECT spark_partition_id() AS p, id, l FROM (SELECT /*+ REPARTITION(5, l) */ id, l FROM numbers);
SELECT spark_partition_id() AS p, id, f FROM (SELECT /*+ REPARTITION(5, f) */ id, f FROM numbers);
SELECT spark_partition_id() AS p, id, d FROM (SELECT /*+ REPARTITION(5, d) */ id, d FROM numbers);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, n9) */ id, n9 FROM numbers);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, n18) */ id, n18 FROM numbers);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, n38) */ id, n38 FROM numbers);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, n380) */ id, n380 FROM numbers);
SELECT spark_partition_id() AS p, id, s FROM (SELECT /*+ REPARTITION(5, s) */ id, s FROM texts);
SELECT spark_partition_id() AS p, id, flag FROM (SELECT /*+ REPARTITION(5, flag) */ id, flag FROM texts);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, bin) */ id, bin FROM texts);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, d) */ id, d FROM times);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, ts) */ id, ts FROM times);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(5, ntz) */ id, ntz FROM times);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(64, i, d, s) */ id, i, d, s FROM numbers);
SELECT spark_partition_id() AS p, id FROM (SELECT /*+ REPARTITION(7, nothing, b) */ id, b, nothing FROM numbers);
SELECT spark_partition_id() AS p, count(*) FROM (SELECT /*+ REPARTITION(3, id) */ id FROM texts) GROUP BY 1;
