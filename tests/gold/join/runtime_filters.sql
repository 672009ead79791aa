-- What a join built prunes the row groups of the scan it probes, and drops rows below the first join of the pipeline.
-- tables: tame, keys, pruned, partitioned, legacy_dates
-- matrix: ansi=true ; aqe=true,false ; spark.pysparkPipeline.join.runtimeFilter.inListValues=1024,2
-- set: spark.pysparkPipeline.join.reduction=never ; spark.sql.optimizer.dynamicPartitionPruning.enabled=false

-- Row groups, by keys of every type that has bounds, and of some that have none.
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.id = b.id WHERE b.id IN (5, 405, 1105);
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.i = b.i WHERE b.id BETWEEN 480 AND 603;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.d = b.d WHERE b.id IN (5, 350, 1105);
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.zero = b.zero WHERE b.id = 5 AND a.id < 300;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.s = b.s WHERE b.id IN (5, 405, 1105);
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.u = b.u WHERE b.id IN (5, 405, 1105);
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.n = b.n WHERE b.id IN (5, 405, 1105);
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.dt = b.dt AND a.ts = b.ts WHERE b.id IN (5, 405);
SELECT /*+ BROADCAST(b) */ a.id FROM pruned a LEFT SEMI JOIN pruned b ON a.ts = b.ts AND b.id IN (5, 405, 1105);
SELECT /*+ BROADCAST(b) */ a.id FROM pruned a LEFT ANTI JOIN pruned b ON a.dt = b.dt AND b.id > 5;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a LEFT JOIN pruned b ON a.id = b.id AND b.id IN (5, 405) WHERE a.id < 500;
SELECT /*+ SHUFFLE_HASH(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.id = b.id WHERE b.s < 'key-00007';
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM pruned a JOIN pruned b ON a.i <=> b.i WHERE b.id IN (5, 505) AND a.id < 600;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM keys a JOIN keys b ON a.n18 = b.n18 WHERE b.id < 3;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM keys a JOIN keys b ON a.ntz = b.ntz AND a.bin = b.bin WHERE b.id < 9;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM partitioned a JOIN partitioned b ON a.p_num = b.p_num AND a.id = b.id WHERE b.id < 3;
-- Files in the Julian calendar.
SELECT /*+ BROADCAST(b) */ a.s, a.dt FROM legacy_dates a JOIN legacy_dates b ON a.dt = b.dt WHERE b.id = 1 AND b.dt < DATE'1582-10-15';
SELECT /*+ BROADCAST(b) */ a.s, a.ts FROM legacy_dates a JOIN legacy_dates b ON a.ts = b.ts WHERE b.id = 1 AND b.dt > DATE'1582-10-15';

-- Stars: the rows of several joins, through projections and filters, but not below a limit or what may raise.
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.k, c.l FROM tame a JOIN tame b ON a.id = b.id JOIN tame c ON a.i = c.id;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.k, c.id FROM tame a JOIN tame b ON a.k = b.k AND b.id < 9 JOIN tame c ON a.l = c.l AND c.id = 3;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.id FROM tame a LEFT JOIN tame b ON a.id = b.id AND b.z > 0 LEFT SEMI JOIN tame c ON a.k = c.k AND c.id = 3;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id FROM tame a LEFT ANTI JOIN tame b ON a.i = b.i AND b.id < 3 JOIN tame c ON a.d = c.d AND c.id = 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, c.id FROM tame a JOIN tame b ON a.id = b.id LEFT JOIN tame c ON b.k = c.k AND c.id < 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, c.id FROM keys a JOIN keys b ON a.id = b.id JOIN keys c ON a.d = c.d AND a.str = c.str WHERE c.id < 20;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ x.n, c.id FROM (SELECT a.id + b.id AS n, a.k FROM tame a JOIN tame b ON a.id = b.id WHERE a.z > b.t) x JOIN tame c ON x.k = c.k AND c.id < 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ count(*) FROM (SELECT a.id FROM pruned a JOIN pruned b ON a.id = b.id LIMIT 1200) x JOIN pruned c ON x.id = c.id AND c.s < 'key-00003';
SELECT /*+ BROADCAST(b), BROADCAST(c), BROADCAST(e) */ a.k, count(*), sum(c.id) FROM tame a JOIN tame b ON a.id = b.id JOIN tame c ON a.i = c.i AND c.id < 4 JOIN tame e ON a.l = e.l AND e.id < 4 GROUP BY a.k;
SELECT /*+ SHUFFLE_HASH(b), BROADCAST(c) */ a.id, c.id FROM tame a JOIN tame b ON a.id = b.id JOIN tame c ON a.k = c.k AND c.id = 3;

-- Snowflakes: the rows of a broadcast that a join above drops, of joins of all kinds, but not if something may raise.
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.l, c.id FROM tame a JOIN tame b ON a.i = b.id JOIN tame c ON b.k = c.k AND c.id = 3;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.id, c.k FROM tame a JOIN tame b ON a.z = b.id JOIN tame c ON b.l = c.l AND b.n15 = c.n15 AND c.id < 7;
SELECT /*+ BROADCAST(b), BROADCAST(c), BROADCAST(e) */ a.id, c.id, e.id FROM tame a JOIN tame b ON a.id = b.id JOIN tame c ON b.z = c.id JOIN tame e ON c.k = e.k AND e.id = 3;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.k FROM tame a JOIN tame b ON a.id = b.id AND a.z < b.id LEFT SEMI JOIN tame c ON b.d = c.d AND c.id < 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.k, c.id FROM tame a LEFT JOIN tame b ON a.z = b.id JOIN tame c ON b.k = c.k AND c.id < 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.k, c.id FROM tame a JOIN tame b ON a.z = b.id LEFT JOIN tame c ON b.k = c.k AND c.id < 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.k FROM tame a JOIN tame b ON a.id = b.id LEFT ANTI JOIN tame c ON b.k = c.k AND c.id < 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.id, c.id FROM tame a JOIN tame b ON a.s < b.i JOIN tame c ON b.f = c.f AND c.id = 5;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.id, c.id FROM keys a JOIN keys b ON a.id = b.id JOIN keys c ON b.str = c.str AND b.dt = c.dt WHERE c.id < 20;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.id FROM tame a JOIN tame b ON a.id = b.id JOIN tame c ON b.i <=> c.i AND c.id < 4;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.k, count(*), sum(b.n38) FROM tame a JOIN tame b ON a.z = b.z JOIN tame c ON b.id = c.id AND c.id > 1000 GROUP BY a.k;
-- expect: error DIVIDE_BY_ZERO
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id FROM tame a JOIN tame b ON a.id = b.id AND a.s div b.z >= 0 JOIN tame c ON b.k = c.k AND c.id = 1;
-- expect: error DIVIDE_BY_ZERO
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id FROM tame a JOIN tame b ON a.id = b.id AND a.s div b.z >= 0 JOIN tame c ON a.k = c.k AND c.id = 1;
