-- Expand: ROLLUP, CUBE, GROUPING SETS, GROUPING(), several DISTINCT aggregates.
-- tables: tame, keys, numbers
-- matrix: ansi=true ; aqe=true,false

SELECT k, z, count(*), grouping(k) FROM tame GROUP BY ROLLUP (k, z);
SELECT k, z, sum(i), grouping_id(), min(id) FROM tame GROUP BY CUBE (k, z);
SELECT k, z, sum(i) FROM tame GROUP BY GROUPING SETS ((k), (z), ());
SELECT k, z, b, count(*) FROM tame GROUP BY GROUPING SETS ((k, z), (z, b), (b), (k, z, b));
-- The same set twice gives its rows twice.
SELECT k, count(*) FROM tame GROUP BY GROUPING SETS ((k), (k), ());
SELECT k, count(*) FROM tame WHERE id < 0 GROUP BY ROLLUP (k);
SELECT k, count(*), sum(z) FROM tame WHERE id < 0 GROUP BY GROUPING SETS ((k), ());
-- A key that is also an argument keeps its value there.
SELECT z, sum(z), count(z), max(k) FROM tame GROUP BY ROLLUP (z);
SELECT id % 3 AS m, k, avg(i) FROM tame GROUP BY CUBE (id % 3, k);
SELECT k, z, count(*) AS c FROM tame GROUP BY ROLLUP (k, z) HAVING grouping(z) = 1 OR count(*) > 15;
-- Keys of other types.
SELECT b, dt, count(*) FROM keys GROUP BY ROLLUP (b, dt);
SELECT d, str, count(*), sum(id) FROM keys GROUP BY CUBE (d, str);
SELECT n38, bin, ts, count(*) FROM keys GROUP BY GROUPING SETS ((n38), (bin), (ts), ());
SELECT ntz, n9, f, max(l) FROM keys GROUP BY GROUPING SETS ((ntz, n9), (f));
-- Several DISTINCT.
SELECT count(DISTINCT i), count(DISTINCT k) FROM tame;
SELECT count(DISTINCT i), count(DISTINCT k), count(DISTINCT z, b), sum(i), count(*) FROM tame;
SELECT k, count(DISTINCT i), count(DISTINCT z), sum(DISTINCT z) FROM tame GROUP BY k;
SELECT k, count(DISTINCT i), avg(DISTINCT z), max(id), count(*) FROM tame GROUP BY k;
SELECT k, count(DISTINCT i) FILTER (WHERE id > 50), count(DISTINCT z) FILTER (WHERE b), sum(i) FILTER (WHERE z > 0) FROM tame GROUP BY k;
SELECT count(DISTINCT i), count(DISTINCT k), sum(z) FROM tame WHERE id < 0;
SELECT k, count(DISTINCT i), count(DISTINCT z) FROM tame WHERE id < 0 GROUP BY k;
SELECT count(DISTINCT d), count(DISTINCT f), count(DISTINCT str), count(DISTINCT n38) FROM keys;
SELECT b, count(DISTINCT d), count(DISTINCT str), min(str), max(bin) FROM keys GROUP BY b;
SELECT count(DISTINCT dt), count(DISTINCT ts), count(DISTINCT ntz), count(DISTINCT bin), count(DISTINCT void) FROM keys;
SELECT sum(DISTINCT n9), sum(DISTINCT n18), avg(DISTINCT n38) FROM tame;
-- floats: approximate
SELECT k, sum(DISTINCT d), avg(DISTINCT f), count(DISTINCT z) FROM tame GROUP BY k;
-- Both together, above and below joins.
SELECT k, z, count(DISTINCT i), count(DISTINCT b) FROM tame GROUP BY ROLLUP (k, z);
SELECT a.k, count(DISTINCT a.i), count(DISTINCT b.z) FROM tame a JOIN tame b ON a.id = b.i GROUP BY ROLLUP (a.k);
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT t.id, r.c FROM tame t JOIN (SELECT k, z, count(*) AS c FROM tame GROUP BY CUBE (k, z)) r ON t.k <=> r.k AND t.z <=> r.z;
-- rows: ordered
SELECT k, z, sum(i) AS s FROM tame GROUP BY ROLLUP (k, z) ORDER BY k, z, s;
-- rows: ordered
SELECT k, z, sum(i) AS s, grouping_id() AS g FROM tame GROUP BY CUBE (k, z) ORDER BY g, k, z, s LIMIT 9;
-- Rows are grouped by all keys before they are expanded, unless a function depends on their order, or a column on the set.
SELECT k, z, sum(i), avg(i), min(n18), max(str), count(*) FILTER (WHERE i > 3), bit_xor(id), bool_and(b), sum(n9) FILTER (WHERE b) FROM (SELECT t.*, concat(k, z) AS str FROM tame t) GROUP BY ROLLUP (k, z, b);
SELECT k, z, b, count(DISTINCT i), avg(n9), try_sum(i), try_avg(i) FROM tame GROUP BY CUBE (k, z, b);
SELECT z, b, sum(n18), avg(n18), sum(n9), count(n38), max(n38) FROM tame GROUP BY GROUPING SETS ((z, b), (b), (z, b), ());
-- set: spark.pysparkPipeline.aggregate.passThroughRows=10 ; spark.pysparkPipeline.aggregate.passThroughRatio=1 ; spark.pysparkPipeline.batchRows=7
SELECT k, z, i, sum(id), avg(id), count(*), min(k) FROM tame GROUP BY ROLLUP (k, z, i);
SELECT l % 5 AS m, b, sum(s), avg(t), sum(i), avg(s), count(b2) FROM numbers GROUP BY ROLLUP (l % 5, b);
-- floats: approximate
SELECT k, z, sum(d), avg(f), count(d) FROM tame GROUP BY ROLLUP (k, z);
SELECT k, z, first(i), last(i), any_value(b), max_by(id, i), count(*) FROM (SELECT * FROM tame ORDER BY id) GROUP BY ROLLUP (k, z);
SELECT f, d, sum(id), avg(n9) FROM keys GROUP BY CUBE (f, d);
SELECT arr, st.x, count(*), sum(id) FROM (SELECT id, z, array(k, k) AS arr, struct(z AS x) AS st FROM tame) GROUP BY ROLLUP (arr, st.x);
