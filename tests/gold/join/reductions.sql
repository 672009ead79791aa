-- Semi joins that drop rows of one side early, before it is shuffled or aggregated, by what the other side has.
-- tables: tame, keys
-- matrix: ansi=true ; aqe=true,false ; spark.pysparkPipeline.join.reduction=always
-- set: spark.sql.autoBroadcastJoinThreshold=1

-- Every kind, the side with a filter left and right.
SELECT a.id, b.id FROM tame a JOIN tame b ON a.i = b.i AND a.k = b.k WHERE b.id < 40 AND b.z > 0;
SELECT a.id, b.id FROM tame a LEFT JOIN tame b ON a.i = b.i AND b.id < a.id WHERE a.id < 40;
SELECT a.id, b.id FROM tame a LEFT JOIN (SELECT * FROM tame WHERE id < 40) b ON a.i = b.i;
SELECT a.id, b.id FROM tame a RIGHT JOIN tame b ON a.i = b.i AND a.id < b.id WHERE b.id < 40;
SELECT a.id, b.id FROM (SELECT * FROM tame WHERE id < 40) a RIGHT JOIN tame b ON a.i = b.i;
SELECT a.id, b.id FROM (SELECT * FROM tame WHERE id < 40) a FULL JOIN tame b ON a.i = b.i;
SELECT a.id FROM tame a LEFT SEMI JOIN tame b ON a.i = b.i AND a.id <> b.id WHERE a.id < 40;
SELECT a.id FROM tame a LEFT SEMI JOIN (SELECT * FROM tame WHERE id < 40) b ON a.i = b.i AND a.id <> b.id;
SELECT a.id FROM tame a LEFT ANTI JOIN tame b ON a.i = b.i AND a.id <> b.id WHERE a.id < 40;
SELECT a.id FROM tame a LEFT ANTI JOIN (SELECT * FROM tame WHERE id < 40) b ON a.i = b.i;
SELECT id FROM tame a WHERE id < 90 AND (EXISTS (SELECT 1 FROM tame b WHERE b.i = a.i AND b.id > a.id) OR id < 3);
-- Keys with NULLs and of every type; none that is equal and not the same.
SELECT a.id, b.id FROM keys a JOIN keys b ON a.str = b.str AND a.dt = b.dt WHERE a.id < 50;
SELECT a.id, b.id FROM keys a JOIN keys b ON a.ts = b.ts AND a.bin = b.bin WHERE b.id < 50;
SELECT a.id, b.id FROM keys a JOIN keys b ON a.d = b.d WHERE a.id < 50;
SELECT a.id, b.id FROM keys a JOIN keys b ON a.n38 = b.n38 AND a.b = b.b WHERE a.id < 50;
SELECT a.id, b.id FROM keys a JOIN keys b ON a.i <=> b.i WHERE a.id < 50;
-- expect[aqe=true]: any
SELECT count(*) FROM keys a JOIN keys b ON a.void = b.void WHERE a.id < 50;
-- Below an aggregation, by its keys; not by what it computes.
SELECT a.id, g.s FROM tame a JOIN (SELECT i, sum(l) AS s FROM tame GROUP BY i) g ON a.i = g.i WHERE a.id < 40;
SELECT a.id, g.m FROM tame a JOIN (SELECT k, min(i) AS m FROM tame GROUP BY k) g ON a.k = g.k AND a.i = g.m WHERE a.z > 0;
SELECT a.id FROM tame a WHERE a.z > 0 AND a.i < (SELECT avg(b.i) FROM tame b WHERE b.k = a.k);
SELECT a.id, g.c FROM tame a JOIN (SELECT count(*) AS c FROM tame) g ON a.i = g.c WHERE a.id < 40;
SELECT k, s FROM (SELECT k, sum(i) AS s FROM tame GROUP BY k HAVING sum(i) > 0) JOIN (SELECT k AS kk FROM tame WHERE id < 9) ON k = kk;
-- Through joins, projections and filters.
SELECT a.id, b.id, c.id FROM tame a JOIN tame b ON a.i = b.i LEFT JOIN tame c ON b.l = c.l WHERE a.id < 20;
SELECT a.id, x.id FROM tame a JOIN (SELECT b.id, b.i AS j FROM tame b LEFT SEMI JOIN tame c ON b.l = c.l AND b.id <> c.id) x ON a.i = x.j WHERE a.z > 0;
SELECT a.id FROM tame a JOIN tame s ON a.z = s.z AND s.id < 5
  WHERE EXISTS (SELECT 1 FROM tame b WHERE b.i = a.i AND b.id <> a.id) AND NOT EXISTS (SELECT 1 FROM tame c WHERE c.l = a.l AND c.id > a.id);
SELECT a.id, b.z FROM tame a JOIN (SELECT z, i + 1 AS j FROM tame) b ON a.i = b.j WHERE a.id < 20;
SELECT a.id, u.i FROM tame a JOIN (SELECT i FROM tame UNION ALL SELECT z FROM tame) u ON a.i = u.i WHERE a.id < 20;
-- Not below a limit, nor below what is not deterministic.
SELECT count(*) FROM (SELECT i FROM tame ORDER BY id LIMIT 50) a JOIN tame b ON a.i = b.i WHERE b.id < 20;
-- The same sides, both ways and thrice.
SELECT a.id, b.id, c.id FROM tame a JOIN tame b ON a.i = b.i JOIN tame c ON b.i = c.i WHERE a.id < 30 AND c.z > 0;
SELECT a.k, count(*), sum(b.id) FROM tame a JOIN tame b ON a.id = b.i WHERE a.z > 0 GROUP BY a.k;
-- One scan reduced by two joins above it.
SELECT t.id, g.s FROM tame t JOIN (SELECT a.k, sum(a.l) AS s FROM tame a JOIN tame d ON a.z = d.z AND d.id < 5 GROUP BY a.k) g
  ON t.k = g.k WHERE t.id < 9;
-- Nothing is left, or a side is empty.
-- expect[aqe=true]: any
SELECT a.id, b.id FROM tame a JOIN tame b ON a.i = b.i WHERE a.id < 0;
SELECT a.id, b.id FROM tame a LEFT JOIN tame b ON a.i = b.i WHERE a.id = 1;
