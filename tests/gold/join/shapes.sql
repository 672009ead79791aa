-- Joins in larger plans: what AQE decides at run time, pruning of partitions, sorts and windows above, set operations, subqueries.
-- tables: tame, numbers, keys, partitioned, texts, times
-- matrix: ansi=true ; aqe=true,false

SELECT /*+ BROADCAST(b) */ p.*, b.id AS bid FROM partitioned p JOIN tame b ON p.p_num = b.z AND b.id < 10;
SELECT p.*, b.id AS bid FROM partitioned p JOIN tame b ON p.p_num = b.z AND b.i = 7;
-- set: spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly=false ; spark.sql.autoBroadcastJoinThreshold=-1
SELECT p.*, b.id AS bid FROM partitioned p JOIN tame b ON p.p_num = b.z AND b.i = 7;
-- set: spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold=0 ; spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly BloomFilterAggregate
-- expect[aqe=true]: any
SELECT a.id, b.id FROM numbers a JOIN tame b ON a.i = b.i WHERE b.k = 'x';
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.adaptive.autoBroadcastJoinThreshold=10485760
SELECT a.id, b.id FROM numbers a JOIN (SELECT i, max(id) AS id FROM tame WHERE k = 'x' GROUP BY i) b ON a.i = b.i;
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.adaptive.autoBroadcastJoinThreshold=10485760
SELECT a.k, count(*), sum(c.id) FROM tame a LEFT JOIN numbers b ON a.id = b.id JOIN (SELECT z, id FROM tame WHERE id < 20) c ON c.id = a.id GROUP BY a.k;
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes=10 ; spark.sql.adaptive.advisoryPartitionSizeInBytes=100 ; spark.sql.adaptive.skewJoin.skewedPartitionFactor=1
SELECT a.id, b.id FROM keys a JOIN keys b ON a.one = b.one AND a.i = b.i WHERE a.id < 100;
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes=10 ; spark.sql.adaptive.advisoryPartitionSizeInBytes=100 ; spark.sql.adaptive.skewJoin.skewedPartitionFactor=1 ; spark.sql.adaptive.forceOptimizeSkewedJoin=true
SELECT a.id, b.id FROM keys a LEFT JOIN keys b ON a.one = b.one AND a.t = b.t AND b.id > 400;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.k, b.c FROM (SELECT k FROM tame GROUP BY k ORDER BY k) a JOIN (SELECT k, count(*) AS c FROM tame GROUP BY k) b ON a.k = b.k;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.i, min(b.k), max(a.k) FROM tame a JOIN tame b ON a.i = b.i GROUP BY a.i;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
-- expect: converted
SELECT i, id, sum(id) OVER (PARTITION BY i ORDER BY id) AS s FROM (SELECT a.i, b.id FROM tame a JOIN tame b ON a.i = b.i AND a.id < 10 AND b.id < 30);
-- rows: ordered
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, b.id AS x FROM tame a JOIN tame b ON a.id = b.id ORDER BY a.id;
-- rows: ordered
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.pysparkPipeline.sort.gatherBytes=0
SELECT a.id, b.id AS x FROM tame a JOIN tame b ON a.id = b.id ORDER BY a.id DESC;
-- rows: ordered
-- set: spark.pysparkPipeline.sort.gatherBytes=0
SELECT k, count(*) AS c FROM tame GROUP BY k ORDER BY c, k;
-- rows: ordered
SELECT id, k FROM (SELECT id, k FROM tame ORDER BY id LIMIT 30) WHERE k <> 'x' ORDER BY k, id;
SELECT a.id FROM tame a JOIN LATERAL (SELECT max(b.id) AS m FROM numbers b WHERE b.i = a.i) t ON t.m > a.id;
SELECT id, (SELECT count(*) FROM numbers b WHERE b.i = a.i) AS c FROM tame a;
SELECT id FROM tame INTERSECT ALL SELECT z FROM tame;
SELECT z FROM tame EXCEPT ALL SELECT id FROM tame WHERE id < 3;
SELECT z, k FROM tame EXCEPT SELECT z, k FROM tame WHERE id > 20;
SELECT k FROM tame INTERSECT SELECT k FROM tame WHERE z = 1;
SELECT a.id, kk FROM tame a NATURAL JOIN (SELECT id, k AS kk FROM tame) b;
SELECT * FROM tame a JOIN tame b USING (id) WHERE a.k = b.k;
SELECT a.id, y.id AS q FROM tame a FULL JOIN (SELECT id, s AS ss FROM numbers) y USING (id) WHERE coalesce(a.id, y.id) < 20 OR a.k IS NULL;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.k, b.k, count(*) FROM tame a FULL JOIN tame b ON a.k = b.k AND a.z > 1 AND b.z < 1 GROUP BY a.k, b.k;
SELECT a.d, b.d, count(*) FROM keys a JOIN keys b ON a.d = b.d AND a.f <=> b.f GROUP BY a.d, b.d;
SELECT a.id, b.id FROM keys a JOIN keys b ON a.b = (b.i > 0) AND a.id < 20 AND b.id < 40;
SELECT a.id FROM texts a JOIN texts b ON a.s LIKE concat('%', b.flag, '%') WHERE a.id < 60 AND b.id < 40;
-- expect: partly to_xml
SELECT a.id FROM texts a JOIN texts b ON a.s > to_xml(struct(1, b.flag)) WHERE a.id < 60 AND b.id < 40;
SELECT /*+ BROADCAST(b) */ a.id, a.s, b.s FROM texts a JOIN texts b ON a.s = b.s2 AND a.id + b.id > 300;
SELECT /*+ BROADCAST(b) */ a.id, b.ts FROM times a LEFT JOIN times b ON a.ts = b.ts2 AND a.d < b.d2;
SELECT count(*), max(c) FROM (SELECT a.id, count(b.id) AS c FROM tame a LEFT JOIN tame b ON a.z = b.z GROUP BY a.id HAVING count(b.id) > 1);
SELECT CASE WHEN EXISTS (SELECT 1 FROM tame WHERE id = 5) THEN id ELSE -1 END AS x FROM tame WHERE id < 4;
SELECT id, id IN (SELECT z FROM tame) AS f FROM tame WHERE id < 6;
SELECT id, id NOT IN (SELECT z FROM tame WHERE z IS NOT NULL) AS f, z NOT IN (SELECT i FROM numbers) AS g FROM tame WHERE id < 60;
SELECT id FROM tame WHERE z NOT IN (SELECT z FROM tame WHERE id > 1000) OR i IN (SELECT i FROM numbers);
-- set: spark.sql.shuffle.partitions=1
SELECT a.i, count(*) FROM tame a JOIN numbers b ON a.i = b.i GROUP BY a.i;
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.shuffle.partitions=1
SELECT a.i, count(*) FROM tame a JOIN numbers b ON a.i = b.i JOIN numbers c ON a.i = c.i GROUP BY a.i;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT /*+ REPARTITION(1) */ a.id, b.id FROM tame a JOIN (SELECT /*+ REPARTITION(1) */ * FROM tame) b ON a.id = b.id;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.i, b.c FROM (SELECT /*+ REPARTITION(7, i) */ i, id FROM tame) a JOIN (SELECT i, count(*) AS c FROM tame GROUP BY i) b ON a.i = b.i;
SELECT t.id, u.x FROM tame t CROSS JOIN (SELECT max(i) AS x FROM tame UNION ALL SELECT min(i) FROM tame) u WHERE t.id < 5;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT t.id, u.id FROM tame t CROSS JOIN numbers u WHERE t.id < u.s AND t.id < 12;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT t.k, count(*) FROM tame t CROSS JOIN numbers u JOIN tame w ON w.id = t.id GROUP BY t.k;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT count(*) FROM (SELECT t.id FROM tame t CROSS JOIN numbers u UNION ALL SELECT id FROM tame);
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.requireAllClusterKeysForCoPartition=false
SELECT a.i, a.k, b.c FROM (SELECT i, k, sum(id) AS s FROM tame GROUP BY i, k) a JOIN (SELECT i, count(*) AS c FROM tame GROUP BY i) b ON a.i = b.i;
-- set: spark.sql.autoBroadcastJoinThreshold=-1 ; spark.sql.execution.useHashAggregate=false
SELECT a.i, sum(a.id) FROM tame a JOIN tame b ON a.i = b.i GROUP BY a.i;
-- set: spark.sql.join.preferSortMergeJoin=false ; spark.sql.autoBroadcastJoinThreshold=2000
SELECT a.id, b.id FROM numbers a JOIN tame b ON a.id = b.id;
SELECT DISTINCT a.k, b.z FROM tame a JOIN tame b ON a.id = b.z ORDER BY 1, 2 LIMIT 3;
SELECT mode, c FROM (SELECT id % 3 AS mode, count(*) AS c FROM tame GROUP BY 1) DISTRIBUTE BY mode SORT BY c;

SELECT /*+ BROADCAST(b) */ p.p_day, count(*) FROM partitioned p JOIN (SELECT z, max(id) AS id FROM tame WHERE k = 'x' GROUP BY z) b ON p.p_num = b.z GROUP BY p.p_day;
SELECT id, IF((SELECT max(i) FROM tame) IS NULL, 1, 2) AS x, coalesce((SELECT min(i) FROM tame WHERE id < 0), id) AS y FROM tame WHERE id < 9;
SELECT id FROM tame WHERE (SELECT max(z) FROM tame) + id BETWEEN 3 AND (SELECT count(*) FROM texts WHERE flag = 'R');
SELECT id, CASE WHEN EXISTS (SELECT 1 FROM tame WHERE id < 0) THEN id ELSE -1 END AS x, NOT EXISTS (SELECT 1 FROM texts WHERE s = 'zzz') AS y FROM tame WHERE id < 4;
SELECT id FROM tame WHERE d > (SELECT avg(d) FROM tame) AND k LIKE (SELECT max(k) FROM tame);
-- expect: partly to_xml
SELECT id FROM tame WHERE d > (SELECT avg(d) FROM tame) AND to_xml(struct(1, k)) <> (SELECT max(k) FROM tame);
SELECT id, (SELECT max(ts) FROM times) AS a, (SELECT min(d) FROM times) AS b, (SELECT max(n38) FROM tame) AS c, (SELECT max(s) FROM texts) AS e, (SELECT max(bin) FROM texts) AS f, (SELECT max(f) FROM tame) AS g, (SELECT max(b) FROM tame) AS h FROM tame WHERE id < 3;
SELECT k, count(*) FROM tame GROUP BY k HAVING count(*) > (SELECT min(c) FROM (SELECT count(*) AS c FROM tame GROUP BY k));
SELECT a.id FROM tame a JOIN tame b ON a.id = b.id AND a.i > (SELECT avg(i) FROM tame);
