-- Broadcasts read by pipelines and by operators that stayed in Spark; exchanges read twice.
-- tables: tame, numbers, keys
-- matrix: ansi=true ; aqe=true,false ; spark.sql.exchange.reuse=true,false

-- One broadcast used twice: the same side of two joins.
WITH b AS (SELECT id, k FROM tame WHERE id < 40)
SELECT a.id, x.k, y.k FROM tame a JOIN b x ON a.i = x.id JOIN b y ON a.z = y.id;
WITH b AS (SELECT id, k FROM tame WHERE id < 40)
SELECT /*+ BROADCAST(x), BROADCAST(y) */ a.id, x.k, y.k FROM tame a LEFT JOIN b x ON a.i = x.id LEFT JOIN b y ON a.z = y.id;
-- In two branches of a union, each with a join of its own.
SELECT /*+ BROADCAST(b) */ a.id, b.k FROM tame a JOIN tame b ON a.z = b.id UNION ALL
SELECT /*+ BROADCAST(b) */ a.id, b.k FROM numbers a JOIN tame b ON a.id = b.id;
-- In fragments of different stages.
SELECT /*+ BROADCAST(b) */ x.k, x.c, b.id FROM
  (SELECT /*+ BROADCAST(b) */ b.k, count(*) AS c FROM tame a JOIN tame b ON a.z = b.id GROUP BY b.k) x
  JOIN tame b ON x.c = b.id;
-- The same table by other keys, and by one key of two: different tables of one broadcast's rows.
SELECT /*+ BROADCAST(x), BROADCAST(y) */ count(*), sum(x.id), sum(y.id) FROM tame a JOIN tame x ON a.z = x.id JOIN tame y ON a.id = y.id AND a.k = y.k;
-- Without keys, and with one: an identity and a hashed broadcast.
SELECT /*+ BROADCAST(x), BROADCAST(y) */ count(*) FROM tame a JOIN tame x ON a.z = x.id JOIN tame y ON a.id < y.z;
-- Broadcast of an aggregate, of a join, of nothing.
SELECT /*+ BROADCAST(g) */ a.id, g.c FROM tame a JOIN (SELECT k, count(*) AS c FROM tame GROUP BY k) g ON a.k = g.k;
SELECT /*+ BROADCAST(g) */ a.id, g.c FROM tame a JOIN (SELECT x.id, y.i AS c FROM tame x JOIN tame y ON x.z = y.id) g ON a.id = g.id;
-- expect[aqe=true]: any
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a JOIN (SELECT id FROM tame WHERE i = -12345) b ON a.id = b.id;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a LEFT JOIN (SELECT id FROM tame WHERE i = -12345) b ON a.id = b.id;
-- Every row has the same key, and none has one.
SELECT /*+ BROADCAST(b) */ count(*) FROM keys a JOIN keys b ON a.one = b.one AND a.id < b.id;
SELECT /*+ BROADCAST(b) */ count(*) FROM keys a LEFT JOIN keys b ON a.void = b.void;
-- Keys that Spark packs into one long, and keys it does not.
SELECT /*+ BROADCAST(b) */ count(*), sum(b.id) FROM keys a JOIN keys b ON a.i = b.i AND a.t = b.t;
SELECT /*+ BROADCAST(b) */ count(*), sum(b.id) FROM keys a JOIN keys b ON a.l = b.l AND a.i = b.i;
SELECT /*+ BROADCAST(b) */ count(*), sum(b.id) FROM keys a JOIN keys b ON a.s = b.i;
SELECT /*+ BROADCAST(b) */ count(*), sum(b.id) FROM keys a JOIN keys b ON a.d = b.d AND a.str = b.str;
-- A join that stays in Spark reads a broadcast that the engine made.
-- expect: partly Generate
SELECT /*+ BROADCAST(b) */ a.x, b.k FROM (SELECT explode(array_sort(array(id, z), (x, y) -> 0)) AS x FROM tame) a JOIN tame b ON a.x = b.id;
-- expect: partly array
SELECT /*+ BROADCAST(b) */ a.id, b.k FROM tame a JOIN tame b ON a.id = b.id AND array_sort(array(a.z, b.z), (x, y) -> 0)[0] = b.z;
-- expect: partly array
SELECT /*+ BROADCAST(b) */ a.id, b.k FROM tame a LEFT JOIN tame b ON a.k = b.k AND array_sort(array(a.z, b.z), (x, y) -> 0)[0] = b.z WHERE a.id < 20;
-- expect: partly array
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a JOIN tame b ON array_sort(array(a.z, b.id), (x, y) -> 0)[0] = b.id;
-- expect: partly array
SELECT /*+ BROADCAST(b) */ a.id, b.k, c.k FROM tame a JOIN tame b ON a.id = b.id AND array_sort(array(a.z, b.z), (x, y) -> 0)[0] = b.z JOIN tame b2 ON b2.id = b.id JOIN tame c ON c.id = b2.z;
-- One broadcast, a join in the engine and a join in Spark.
-- expect: partly array
WITH b AS (SELECT /*+ REPARTITION(2) */ id, z, k FROM tame)
SELECT /*+ BROADCAST(x), BROADCAST(y) */ a.id, x.k, y.k FROM tame a JOIN b x ON a.z = x.id JOIN b y ON a.id = y.id AND array_sort(array(a.z, y.z), (x, y) -> 0)[0] = y.z;
-- The broadcast side comes from Spark.
-- expect: partly Generate
SELECT /*+ BROADCAST(b) */ a.id, b.x FROM tame a JOIN (SELECT id, explode(array_sort(array(1, z), (x, y) -> 0)) AS x FROM tame) b ON a.id = b.id;
SELECT /*+ BROADCAST(v) */ a.id, v.y FROM tame a JOIN VALUES (1, 'a'), (2, NULL), (NULL, 'c') AS v(x, y) ON a.z = v.x;
SELECT /*+ BROADCAST(r) */ a.k, r.id FROM tame a JOIN range(5) r ON a.id = r.id;
-- Self joins: both sides of the join are one exchange.
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT x.k, x.s, y.s FROM (SELECT k, sum(i) AS s FROM tame GROUP BY k) x JOIN (SELECT k, sum(i) AS s FROM tame GROUP BY k) y ON x.s = y.s;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT x.id, y.id FROM tame x JOIN tame y ON x.i = y.i AND x.id < y.id;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT x.id, y.z FROM tame x FULL JOIN tame y ON x.id = y.id;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
WITH g AS (SELECT k, z, count(*) AS c FROM tame GROUP BY k, z)
SELECT x.k, x.c, y.c, w.c FROM g x JOIN g y ON x.k = y.k AND x.z = y.z JOIN g w ON w.c = x.c;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
WITH g AS (SELECT k, count(*) AS c FROM tame GROUP BY k)
SELECT * FROM g UNION ALL SELECT x.k, y.c FROM g x JOIN g y ON x.k <=> y.k;
-- A reused exchange that a join in Spark reads too.
-- set: spark.sql.autoBroadcastJoinThreshold=-1
-- expect: partly array
SELECT x.id, y.id FROM (SELECT id, i, z FROM tame) x JOIN (SELECT id, i, z FROM tame) y ON x.i = y.i AND array_sort(array(x.z, y.z), (x, y) -> 0)[0] = y.z;
-- Subqueries over a broadcast join.
SELECT id FROM tame WHERE i > (SELECT /*+ BROADCAST(b) */ avg(a.i) FROM tame a JOIN tame b ON a.z = b.id);
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a JOIN tame b ON a.z = b.id WHERE b.i < (SELECT max(i) FROM tame);
