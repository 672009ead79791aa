-- Spark's runtime bloom filters run in the engine; the aggregation that makes one stays in Spark.
-- tables: tame, keys, texts, times
-- matrix: ansi=true ; aqe=true,false

-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM tame a JOIN tame b ON a.i = b.i WHERE b.id < 20;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.l = b.l WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.t = b.t WHERE b.id < 3;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.s = b.s WHERE b.id < 3;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.b = b.b WHERE b.id < 3;
-- NaN meets NaN and 0.0 meets -0.0.
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.f = b.f WHERE b.id < 12;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.d = b.d WHERE b.id < 12;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.n9 = b.n9 WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.n18 = b.n18 WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.n38 = b.n38 WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.str = b.str WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.bin = b.bin WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.dt = b.dt WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.ts = b.ts WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM times a JOIN times b ON a.ntz = b.ntz WHERE b.id < 4;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a JOIN keys b ON a.i = b.i AND a.str = b.str WHERE b.id < 30;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, count(*) FROM keys a JOIN keys b ON a.i = b.i JOIN texts c ON a.str = c.s WHERE b.id < 7 AND c.id < 9 GROUP BY a.id;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id FROM keys a LEFT SEMI JOIN (SELECT i FROM keys WHERE id < 5) b ON a.i = b.i;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
SELECT a.id, b.id FROM keys a RIGHT JOIN (SELECT * FROM keys WHERE id < 5) b ON a.i = b.i;
-- Nothing on the small side: the filter is NULL.
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
-- expect[aqe=true]: any
SELECT a.id, b.id FROM keys a JOIN tame b ON a.i = b.i WHERE b.k = 'nowhere';
