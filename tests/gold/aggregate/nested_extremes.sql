-- max and min of arrays and structs, max_by and min_by by them: NULL at each level, NaN, equal ones, no rows.
-- tables: nests
-- matrix: ansi=true ; aqe=true,false ; batch=7

SELECT k, max(st), min(st), max(ai), min(ad), max(aa), min(ast), max(struct(i, k, id)), min(struct(ad, id)) FROM nests GROUP BY k;
SELECT max(st), min(st), max(ai), min(ad), max(aa), min(at), max(an), min(ay), max(struct(i, k)), min(array(i)), max(struct(st.in.u)) FROM nests;
SELECT k, max_by(id, struct(i, id)), min_by(st, struct(ai, id)), max_by(at, struct(k, st.in, id)), min_by(id, array(id)), max_by(NULL, struct(id)) FROM nests GROUP BY k;
SELECT max(st), min(ai), max_by(id, ai) FROM nests WHERE id < 0;
SELECT k, max(st), max_by(id, ai) FROM nests WHERE id < 0 GROUP BY k;
SELECT k, max(st).x, count(DISTINCT i), min(st) FILTER (WHERE i > 0), max(DISTINCT struct(i)) FROM nests GROUP BY k HAVING max(ai) IS NOT NULL;
SELECT i, max(struct(id, st)).st.x, min_by(ms, struct(k, id)) FROM nests GROUP BY i;
-- The first of values that differ only in the sign of zero.
SELECT g, max(a), min(a) FROM (SELECT id % 3 AS g, array(IF(id % 2 = 0, 0.0D, -0.0D), 1.0D) AS a FROM range(0, 20, 1, 1)) GROUP BY g;
SELECT max_by(id, a), min_by(id, a) FROM (SELECT id, struct(id % 2 AS a, 'x' AS b) AS a FROM range(0, 20, 1, 1));
