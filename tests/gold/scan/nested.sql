-- Arrays, maps and structs are read, and operators carry them: filters, projections, exchanges, joins, sorts, windows.
-- tables: nested, nests, legacy_nests, evolved_nests, numbers
-- matrix: ansi=true ; aqe=true,false ; batch=31

SELECT * FROM nested;
SELECT st.x FROM nested;
SELECT * FROM nests;
SELECT id, ai, st FROM nests WHERE id > 100 AND id < 140;
SELECT st.s, st.in.v, st.in.u, st.d FROM nests WHERE st.x IS NOT NULL;
SELECT ast.p, ms, aa FROM nests WHERE ai IS NOT NULL;
SELECT id FROM nests WHERE st IS NULL OR m IS NULL AND at IS NOT NULL;
SELECT st.in.u FROM nests WHERE st.in.u < TIMESTAMP'1900-01-01 00:00:00';
SELECT * FROM legacy_nests;
SELECT st.in.u, ast.p, m['a'] FROM legacy_nests WHERE id > 3;
SELECT * FROM evolved_nests;
SELECT st.w, st.x, a.r FROM evolved_nests;
SELECT st.w FROM evolved_nests;
SELECT m.k.none, m FROM evolved_nests WHERE m IS NOT NULL;
SELECT a.q[0] FROM evolved_nests WHERE st.y = 'a' OR st.x = 7;

SELECT /*+ REPARTITION(3, id) */ id, at, ms FROM nests;
SELECT /*+ REPARTITION(3) */ * FROM nests WHERE id < 50;
SELECT /*+ COALESCE(1) */ id, aa, m FROM nests;
SELECT * FROM nests UNION ALL SELECT * FROM nests WHERE id < 9;
-- rows: ordered
SELECT id, st, ad FROM nests ORDER BY id DESC;
-- rows: ordered
SELECT id, st, m, ast FROM nests ORDER BY k, id LIMIT 40;
SELECT id, aa FROM nests WHERE id > 1000;
SELECT a.id, a.st, b.m FROM nests a JOIN nests b ON a.id = b.id + 1;
SELECT /*+ BROADCAST(b) */ a.*, b.ms, b.ay FROM nests a LEFT JOIN (SELECT * FROM nests WHERE id % 3 = 0) b ON a.id = b.id;
SELECT /*+ SHUFFLE_HASH(b) */ a.an, b.st, b.id FROM (SELECT * FROM nests WHERE id < 90) a RIGHT JOIN nests b ON a.id = b.id;
SELECT /*+ MERGE(b) */ a.an, b.st, a.id, b.id FROM (SELECT * FROM nests WHERE id < 90) a FULL JOIN nests b ON a.id = b.id - 3;
SELECT a.id, a.st FROM nests a LEFT SEMI JOIN numbers b ON a.id = b.i;
SELECT /*+ BROADCAST(b) */ a.ai, b.k FROM nests a JOIN (SELECT * FROM nests WHERE id < 4) b ON a.id > b.id + 300;
SELECT a.id, b.at FROM nests a JOIN nests b ON a.st.x = b.i AND a.st.s = b.k;
SELECT id, st, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM nests;
SELECT id, m, sum(id) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS n FROM nests;
SELECT st.s, count(*), count(st), count(ai), sum(st.x), max(st.d) FROM nests GROUP BY st.s;
SELECT k, first(at) AS f, last(m) AS l, count(ms) FROM (SELECT /*+ COALESCE(1) */ * FROM nests) GROUP BY k;
SELECT count(DISTINCT id), count(ast) FROM nests;
SELECT sum(size(ai)), count(*) FROM nests;
-- Keys of nested types.
SELECT struct(k, i) AS s, count(*) FROM nests GROUP BY struct(k, i);
SELECT DISTINCT st.in.v FROM nests;
SELECT a.id, b.id FROM nests a JOIN nests b ON struct(a.k, a.i) = struct(b.k, b.i) WHERE a.id < 40;
SELECT a.id, b.id FROM nests a JOIN nests b ON array(a.i) = array(b.i) AND a.k = b.k WHERE a.id < 40;
SELECT id, count(*) OVER (PARTITION BY struct(k)) AS n FROM nests;
SELECT id, st FROM nests ORDER BY struct(k, id) LIMIT 20;
SELECT count(DISTINCT struct(k, i)), count(DISTINCT id) FROM nests;
SELECT /*+ REPARTITION(3, st) */ id FROM nests;
SELECT id FROM nests WHERE struct(k, i) = struct('a', 1) OR st IN (SELECT st FROM nests WHERE id < 5);
