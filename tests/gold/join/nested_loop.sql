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
-- expect: partly FULL OUTER
SELECT a.id, b.id FROM tame a FULL JOIN tame b ON a.id < b.z;
SELECT count(*) FROM tame a CROSS JOIN tame b;
SELECT a.id, b.id FROM tame a LEFT JOIN (SELECT * FROM tame WHERE id < 0) b ON a.id < b.id;
