-- NOT IN: the null-aware anti join.
-- tables: tame, numbers
-- matrix: ansi=true ; aqe=true,false

SELECT id FROM tame WHERE i NOT IN (SELECT i FROM tame WHERE id < 12 AND i IS NOT NULL);
SELECT id FROM tame WHERE i NOT IN (SELECT i FROM tame WHERE id < 12);
SELECT id FROM tame WHERE i NOT IN (SELECT i FROM tame WHERE id < 0);
SELECT id FROM tame WHERE k NOT IN (SELECT k FROM tame WHERE k = 'x');
SELECT id FROM tame a WHERE i NOT IN (SELECT i FROM tame b WHERE b.k = a.k AND b.i IS NOT NULL);
SELECT id FROM tame WHERE (i, l) NOT IN (SELECT i, l FROM tame WHERE id < 5);
