-- Operators that stay in Spark above and below converted parts: generators, functions; and what converts beside them.
-- tables: tame, numbers, texts, keys
-- matrix: ansi=true ; aqe=true,false

SELECT a.id, b.id FROM tame a JOIN numbers b ON a.i = b.i;
SELECT a.k, count(*), sum(b.i) FROM tame a JOIN tame b ON a.id = b.id GROUP BY a.k;
SELECT a.id, b.d FROM (SELECT id, i FROM numbers WHERE id > 10) a LEFT JOIN (SELECT id, d FROM numbers WHERE id < 100) b ON a.id = b.id;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.k, a.c, b.s FROM (SELECT k, count(*) AS c FROM tame GROUP BY k) a JOIN (SELECT k, sum(i) AS s FROM tame GROUP BY k) b ON a.k <=> b.k;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, b.id FROM tame a FULL JOIN (SELECT * FROM tame WHERE id < 50) b ON a.id = b.id WHERE coalesce(a.id, b.id) % 2 = 0;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT count(*) FROM numbers a JOIN keys b ON a.d = b.d AND a.i = b.i;
SELECT count(*) FROM tame a WHERE EXISTS (SELECT 1 FROM numbers b WHERE b.id = a.z);
SELECT count(*) FROM tame WHERE z NOT IN (SELECT t FROM numbers WHERE t IS NOT NULL);
-- expect: converted
SELECT id, sum(i) OVER (PARTITION BY k ORDER BY id) AS x FROM tame WHERE i IS NOT NULL;
-- expect: converted
SELECT k, c, rank() OVER (ORDER BY c, k) AS r FROM (SELECT k, count(*) AS c FROM tame GROUP BY k);
-- rows: ordered
SELECT id, i FROM tame WHERE i > 0 ORDER BY i, id;
-- rows: ordered
SELECT k, sum(i) AS s FROM tame GROUP BY k ORDER BY k NULLS LAST;
-- rows: ordered
SELECT id, d FROM numbers ORDER BY d DESC, id LIMIT 17;
-- rows: ordered
SELECT s, id FROM texts ORDER BY s, id;
SELECT k, count(*) FROM (SELECT * FROM tame ORDER BY id LIMIT 50) GROUP BY k;
SELECT count(*) FROM (SELECT id FROM tame UNION ALL SELECT id FROM numbers WHERE i > 0);
SELECT i, count(*) FROM (SELECT i FROM tame UNION ALL SELECT i FROM numbers) GROUP BY i;
SELECT id FROM tame WHERE id < 5 UNION SELECT id FROM numbers WHERE id < 8;
SELECT id FROM tame INTERSECT SELECT i FROM numbers;
-- expect: partly Generate
SELECT k, explode(array_sort(array(i, z), (x, y) -> 0)) AS x FROM tame WHERE id < 20;
SELECT upper(k) AS u, count(*) FROM tame GROUP BY upper(k);
SELECT k, collect_set(z) IS NULL AS c, count(*) FROM tame GROUP BY k;
-- expect: partly approx_count_distinct
SELECT k, approx_count_distinct(i, 0.01), sum(i) FROM tame GROUP BY k;
SELECT k, z, count(*), grouping(k) FROM tame GROUP BY ROLLUP (k, z);
SELECT k, z, sum(i) FROM tame GROUP BY GROUPING SETS ((k), (z), ());
SELECT * FROM (SELECT k, z, i FROM tame) PIVOT (sum(i) FOR z IN (0, 1, 2));
