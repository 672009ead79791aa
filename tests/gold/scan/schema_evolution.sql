-- Files that lack columns, order or spell them differently, or hold narrower types than the table's schema.
-- tables: evolved, widened, unsigned
-- matrix: ansi=true

-- expect: some
SELECT * FROM evolved;
-- expect: some
SELECT id FROM evolved WHERE a IS NULL;
-- expect: some
SELECT c, d, b FROM evolved WHERE b > 1;
-- expect: some
SELECT a, count(*), count(c), sum(b) FROM evolved GROUP BY a;
-- expect: some
SELECT count(c) FROM evolved;
-- expect: any
SELECT * FROM widened;
-- expect: any
SELECT sum(i), max(n), min(dt) FROM widened;
-- expect: any
SELECT * FROM unsigned;
-- expect: any
SELECT sum(u32), max(u64) FROM unsigned;
