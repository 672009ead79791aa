-- collect_list of structs: of rows in one task, whose order is that of the lists. NULL structs are left out, NULL fields are not.
-- tables: tame, nests, texts, times
-- matrix: ansi=true,false ; aqe=true,false ; batch=7

SELECT g, collect_list(struct(x, s)) FROM (SELECT id % 3 AS g, id AS x, nullif(repeat('ab', CAST(id % 5 AS int)), 'abab') AS s FROM range(0, 50, 1, 1)) GROUP BY g;
SELECT g, collect_list(struct(x)), array_agg(if(x % 2 = 0, named_struct('b', x > 3, 'c', CAST(x AS tinyint)), NULL)) FROM (SELECT id % 3 AS g, id AS x FROM range(0, 50, 1, 1)) GROUP BY g;
SELECT collect_list(struct(x, CAST(x AS smallint), CAST(x AS int), CAST(x AS float), CAST(x AS double), CAST(x AS decimal(18,2)), date_add(DATE '2020-02-27', CAST(x AS int)), timestamp_seconds(x), encode('é', 'UTF-8'))) FROM range(0, 9, 1, 1) AS r(x);
SELECT k, sort_array(transform(collect_list(struct(i, id)), e -> e.id)) AS l, size(collect_list(struct(b))) FROM tame GROUP BY k;
SELECT k, array_max(transform(collect_list(struct(n9, n18, d, id)), e -> e.id)), size(collect_list(struct(n18))) FROM tame GROUP BY k;
SELECT flag, sort_array(collect_list(struct(s, bin, id)).id) FROM texts GROUP BY flag;
SELECT days, sort_array(collect_list(struct(id, d, ts, ntz)).id), max(d) FROM times GROUP BY days;
SELECT k, collect_list(struct(id, k)) FROM tame WHERE id < 0 GROUP BY k;
SELECT collect_list(struct(id, k)) FROM tame WHERE id < 0;
-- expect: partly
SELECT k, to_csv(struct(size(collect_list(struct(id))))) IS NULL FROM tame GROUP BY k;
SELECT id % 2, explode(collect_list(struct(id, s))) FROM (SELECT id, string(id) s FROM range(0, 20, 1, 1)) GROUP BY id % 2;
SELECT k, size(collect_list(st)), size(array_agg(ast)), sort_array(transform(collect_list(struct(id, ai, st, m, at)), x -> x.id)) FROM nests GROUP BY k;
-- Arrays, maps and structs within others, of rows in one task.
SELECT collect_list(id), collect_list(ai), collect_list(at), collect_list(ad), collect_list(an), collect_list(ay), collect_list(aa), array_agg(st), collect_list(m), collect_list(ms), collect_list(ast) FROM (SELECT /*+ COALESCE(1) */ * FROM nests);
SELECT g, collect_list(a), collect_list(s), collect_list(m), collect_list(n) FROM (SELECT id % 3 AS g, array(id, NULL) AS a, named_struct('x', array(CAST(id AS STRING), NULL), 'y', struct(id, CAST(NULL AS INT), CAST(id AS DECIMAL(9, 2)), NULL)) AS s, map(id, array(id % 2 = 0, NULL), 777, NULL) AS m, array(array(CAST(id AS TINYINT)), NULL, array(CAST(NULL AS TINYINT))) AS n FROM range(0, 70, 1, 1)) GROUP BY g;
SELECT g, collect_list(a), transform(collect_list(m), x -> map_values(x)[0].b), transform(collect_list(m), x -> DATE'2020-01-01' + map_values(x)[0].a) FROM (SELECT id % 3 AS g, IF(id % 4 = 0, NULL, array(id * INTERVAL '1' SECOND, NULL)) AS a, map(CAST(id AS STRING), struct(id * INTERVAL '1' MONTH AS a, IF(id % 5 = 0, NULL, X'0102') AS b)) AS m FROM range(0, 30, 1, 1)) GROUP BY g;
SELECT k, size(collect_list(ai) FILTER (WHERE id < 0)), count(*) FROM nests GROUP BY k;
-- expect: partly collect_list
SELECT size(collect_list(array(CAST(id AS DECIMAL(38, 10))))), size(collect_list(map(1, CAST(id AS DECIMAL(38, 10))))) FROM nests;
