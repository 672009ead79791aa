-- The same kinds with a broadcast side (Spark chooses, or a hint).
-- tables: tame, keys
-- matrix: ansi=true ; aqe=true,false

SELECT /*+ BROADCAST(b) */ a.id, a.i, b.id, b.l FROM tame a JOIN tame b ON a.i = b.i AND a.k = b.k AND b.id < 40;
SELECT /*+ BROADCAST(b) */ a.id, b.id, b.k FROM tame a JOIN tame b ON a.l = b.l AND a.id < 30 AND b.id > 10 AND a.d < b.d;
SELECT /*+ BROADCAST(b) */ a.k, count(*), sum(b.id) FROM tame a JOIN tame b ON a.id = b.i GROUP BY a.k;
SELECT /*+ BROADCAST(b) */ a.id, a.i, b.id, b.l FROM tame a LEFT JOIN tame b ON a.i = b.i AND a.k = b.k AND b.id < 40;
SELECT /*+ BROADCAST(b) */ a.id, b.id, b.k FROM tame a LEFT JOIN tame b ON a.l = b.l AND a.id < 30 AND b.id > 10 AND a.d < b.d;
SELECT /*+ BROADCAST(b) */ a.k, count(*), sum(b.id) FROM tame a LEFT JOIN tame b ON a.id = b.i GROUP BY a.k;
SELECT /*+ BROADCAST(b) */ a.id, a.k FROM tame a LEFT SEMI JOIN tame b ON a.i = b.i AND b.id < 9;
SELECT /*+ BROADCAST(b) */ a.id, a.k FROM tame a LEFT SEMI JOIN tame b ON a.i = b.i AND a.id <> b.id AND a.d < b.d;
SELECT /*+ BROADCAST(b) */ a.id, a.k FROM tame a LEFT ANTI JOIN tame b ON a.i = b.i AND b.id < 9;
SELECT /*+ BROADCAST(b) */ a.id, a.k FROM tame a LEFT ANTI JOIN tame b ON a.i = b.i AND a.id <> b.id AND a.d < b.d;
SELECT id FROM tame a WHERE EXISTS (SELECT 1 FROM tame b WHERE b.i = a.i AND b.id > a.id) OR id < 3;
SELECT id FROM tame a WHERE NOT EXISTS (SELECT 1 FROM tame b WHERE b.l = a.l AND b.id <> a.id);
SELECT id FROM tame a WHERE i IN (SELECT z FROM tame) OR k = 'x';
SELECT /*+ BROADCAST(b) */ a.id, b.id, c.id FROM tame a JOIN tame b ON a.i = b.i JOIN tame c ON b.l = c.l WHERE a.id < 20 AND c.id < 20;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a LEFT JOIN (SELECT * FROM tame WHERE id < 0) b ON a.i = b.i;
SELECT /*+ BROADCAST(b) */ count(*) FROM tame a JOIN tame b ON a.b = b.b;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a JOIN tame b ON a.i <=> b.i AND a.k <=> b.k WHERE a.id < 30;
SELECT /*+ BROADCAST(a) */ a.id, b.id FROM tame a RIGHT JOIN tame b ON a.i = b.i AND a.id < 50;
SELECT /*+ BROADCAST(a) */ a.id, b.id FROM tame a JOIN tame b ON a.i = b.i AND a.id < 50 AND a.d < b.d;
SELECT /*+ BROADCAST(b), BROADCAST(c) */ a.id, b.id, c.k FROM tame a JOIN tame b ON a.id = b.id LEFT JOIN tame c ON a.id = c.id AND c.d > 0;
-- AQE finds a side empty and puts NULLs of its types in its place.
SELECT /*+ BROADCAST(b) */ a.id, b.* FROM tame a LEFT JOIN (SELECT * FROM tame WHERE id < 0) b ON a.i = b.i;
SELECT /*+ BROADCAST(b) */ a.id, b.b, b.str, b.bin, b.dt, b.ts, b.ntz, b.n38 FROM keys a LEFT JOIN (SELECT * FROM keys WHERE id < 0) b ON a.i = b.i;
SELECT /*+ BROADCAST(b) */ b.k, count(*), count(b.n9), max(b.id) FROM tame a LEFT JOIN (SELECT * FROM tame WHERE id < 0) b ON a.i = b.i GROUP BY b.k;
