-- NOT IN: the null-aware anti join.
-- tables: tame, numbers
-- matrix: ansi=true ; aqe=true,false

SELECT id FROM tame WHERE i NOT IN (SELECT i FROM tame WHERE id < 12 AND i IS NOT NULL);
SELECT id FROM tame WHERE i NOT IN (SELECT i FROM tame WHERE id < 12);
SELECT id FROM tame WHERE i NOT IN (SELECT i FROM tame WHERE id < 0);
SELECT id FROM tame WHERE k NOT IN (SELECT k FROM tame WHERE k = 'x');
SELECT id FROM tame a WHERE i NOT IN (SELECT i FROM tame b WHERE b.k = a.k AND b.i IS NOT NULL);
SELECT id FROM tame WHERE (i, l) NOT IN (SELECT i, l FROM tame WHERE id < 5);
-- Spark compares the keys of this join by their bits: 0.0 is not in (-0.0).
-- expect: partly bits
SELECT count(*) FROM (SELECT double(id) * 0.0D AS d FROM tame) WHERE d NOT IN (SELECT id * -0.0D FROM tame WHERE id < 2);
-- expect: partly bits
SELECT count(*) FROM (SELECT float(id) * 0.0F AS d FROM tame) WHERE d NOT IN (SELECT float(id) * -0.0F FROM tame WHERE id < 2);
SELECT id FROM tame WHERE double(i) * 0.0D IN (SELECT id * -0.0D FROM tame WHERE id < 2);
SELECT id, double(i) * 0.0D NOT IN (SELECT id * -0.0D FROM tame WHERE id < 2) AS x FROM tame;
