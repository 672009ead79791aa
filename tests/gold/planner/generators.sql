-- explode, posexplode, inline, stack, their outer forms, LATERAL VIEW and lateral joins; rows in order and chunks bounded.
-- tables: nests, numbers, texts, evolved_nests
-- matrix: aqe=true,false ; batch=7

-- rows: ordered
SELECT id, explode(ai) AS e FROM (SELECT /*+ COALESCE(1) */ * FROM nests);
-- rows: ordered
SELECT id, explode_outer(at) AS e FROM (SELECT /*+ COALESCE(1) */ * FROM nests);
SELECT id, k, posexplode(ad) AS (p, e) FROM nests;
SELECT id, posexplode_outer(aa) AS (p, e) FROM nests;
SELECT id, explode(m) AS (key, value) FROM nests;
SELECT id, posexplode_outer(ms) AS (p, key, value) FROM nests WHERE id < 200;
SELECT id, inline(ast) FROM nests;
SELECT id, inline_outer(ast) AS (p, q) FROM nests;
SELECT id, st.s, e.p FROM nests LATERAL VIEW OUTER explode(ast) v AS e;
SELECT id, e, f FROM nests LATERAL VIEW explode(aa) v AS e LATERAL VIEW explode(e) w AS f;
SELECT id, t.* FROM nests, LATERAL (SELECT explode(at) AS e) t WHERE id % 3 = 0;
SELECT n.id, x.pos, x.col FROM nests n, LATERAL posexplode(n.an) x WHERE n.id > 100;
SELECT id, explode(array(i, i + 1, NULL)) AS e FROM nests WHERE i < 9;
SELECT id, explode(st.in.v) AS e FROM nests;
SELECT id, stack(2, i, k, -i, 'x') AS (a, b) FROM nests;
SELECT id, stack(3, id, 1, id * 2, NULL, 7L) AS (a, b) FROM nests WHERE id < 20;
SELECT id, explode(split(s, ' ')) AS e FROM texts;
SELECT e, count(*) FROM texts LATERAL VIEW explode(split(s, '[ab]+')) v AS e GROUP BY e;
SELECT e, count(*), sum(id) FROM nests LATERAL VIEW explode(at) v AS e GROUP BY e;
SELECT count(*) FROM nests LATERAL VIEW explode(ai) v AS e;
SELECT count(e) FROM nests LATERAL VIEW OUTER explode(ay) v AS e WHERE e < DATE'1600-01-01' OR e IS NULL;
SELECT a.e, b.id FROM (SELECT explode(ai) AS e FROM nests) a JOIN nests b ON a.e = b.id;
SELECT explode(array(1, 2, 3)) AS e, id FROM nests WHERE id < 5;
SELECT id, explode(ai) FROM nests WHERE id > 1000;
-- rows: ordered
SELECT id, e FROM nests LATERAL VIEW explode(ai) v AS e ORDER BY id, e LIMIT 17;
SELECT id, explode(array(10 div (id - 50), id)) AS e FROM numbers WHERE id < 40;
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, explode(array(10 div (id - 50), id)) AS e FROM numbers;
SELECT id, explode(a) AS e FROM evolved_nests;
SELECT i FROM numbers EXCEPT ALL SELECT s FROM numbers;
SELECT i, b FROM numbers INTERSECT ALL SELECT s, b FROM numbers;
SELECT id, json_tuple(concat('{"a":', id, '}'), 'a') FROM nests;
SELECT * FROM sql_keywords();
SELECT id, k.keyword FROM nests, LATERAL sql_keywords() k WHERE id < 3 AND NOT reserved;
SELECT name, language, country, icu_version IS NULL, pad_attribute FROM collations();
SELECT n.id, c.catalog, c.name FROM nests n LEFT JOIN LATERAL collations() c WHERE id < 3 AND c.name LIKE 'UTF8%';
