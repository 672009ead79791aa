-- Joins without equal keys.
-- tables: tame
-- matrix: ansi=true ; aqe=true,false

SELECT a.id, b.id FROM tame a CROSS JOIN tame b WHERE a.id < 20 AND b.id < 7;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a JOIN tame b ON a.id < b.z;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a LEFT JOIN tame b ON a.d > b.d AND b.id < 9;
SELECT /*+ BROADCAST(a) */ a.id, b.id FROM tame a RIGHT JOIN tame b ON a.d > b.d AND a.id < 9;
SELECT /*+ BROADCAST(b) */ a.id FROM tame a LEFT SEMI JOIN tame b ON a.d > b.d AND b.id < 3;
SELECT /*+ BROADCAST(b) */ a.id FROM tame a LEFT ANTI JOIN tame b ON a.d > b.d AND b.id < 3;
SELECT a.id FROM tame a WHERE EXISTS (SELECT 1 FROM tame b WHERE b.d > a.d AND b.id < 5) OR a.id = 1;
SELECT a.id, b.id FROM tame a FULL JOIN tame b ON a.id < b.z;
SELECT a.id, b.id, a.n9 FROM tame a FULL JOIN tame b ON a.id < b.z AND a.k IS NOT NULL WHERE coalesce(a.id, b.id) < 30;
SELECT count(*), count(a.id), count(b.id) FROM tame a FULL JOIN tame b ON a.d > b.d + 3;
SELECT a.id, b.id FROM (SELECT * FROM tame WHERE id < 9) a FULL JOIN (SELECT * FROM tame WHERE id < 0) b ON a.id < b.id;
SELECT a.id, b.id FROM (SELECT * FROM tame WHERE id < 0) a FULL JOIN (SELECT * FROM tame WHERE id < 9) b ON a.id < b.id;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM tame a FULL JOIN tame b ON false;
SELECT /*+ BROADCAST(a) */ a.z, b.c FROM (SELECT z FROM tame GROUP BY z) a FULL JOIN (SELECT k, count(*) AS c FROM tame GROUP BY k) b ON a.z < b.c;
-- expect: error DIVIDE_BY_ZERO
SELECT a.id, b.id FROM tame a FULL JOIN tame b ON a.z / (b.id - 5) > 1;
SELECT count(*) FROM tame a CROSS JOIN tame b;
SELECT a.id, b.id FROM tame a LEFT JOIN (SELECT * FROM tame WHERE id < 0) b ON a.id < b.id;
