-- Intervals as columns: of results, keys, exchanges, aggregates, windows, literals, with the fields that types may have.
-- tables: times, intervals
-- matrix: ansi=true,false ; aqe=true,false

SELECT id, ts - ts2 AS a, ntz - TIMESTAMP_NTZ'2000-01-01 00:00:00' AS b, d - d2 AS c, -(ts - ts2) AS e FROM times WHERE ts BETWEEN TIMESTAMP'0002-01-01' AND TIMESTAMP'9990-01-01' AND ts2 BETWEEN TIMESTAMP'0002-01-01' AND TIMESTAMP'9990-01-01';
SELECT a, count(*) AS n, count(a) AS m, max(a) AS x, min(a) AS y FROM (SELECT d - d2 AS a FROM times) GROUP BY a;
SELECT a, b, count(DISTINCT a, b) AS n FROM (SELECT sdays * INTERVAL '1' HOUR AS a, tdays * INTERVAL '1' DAY AS b FROM times) GROUP BY a, b;
SELECT id % 7 AS k, first(a) AS f, last(a, true) AS l, max_by(id, a) AS m, min(a) AS x, approx_count_distinct(a) AS n FROM (SELECT id, sdays * INTERVAL '1' HOUR AS a FROM times WHERE id < 7) GROUP BY id % 7;
SELECT x.id, y.id AS other, x.a FROM (SELECT id, d - d2 AS a FROM times WHERE id < 90) x JOIN (SELECT id, d2 - d AS a FROM times WHERE id >= 90) y ON x.a = y.a;
SELECT id, a FROM (SELECT id, d - d2 AS a FROM times) ORDER BY a DESC, id LIMIT 40;
SELECT id, a FROM (SELECT id, d - d2 AS a FROM times) ORDER BY a, id;
SELECT id, a, lag(a) OVER (PARTITION BY k ORDER BY id) AS b, max(a) OVER (PARTITION BY k) AS m, rank() OVER (PARTITION BY k ORDER BY a) AS r, first_value(a) IGNORE NULLS OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS f FROM (SELECT id, id % 3 AS k, d - d2 AS a FROM times);
SELECT id, INTERVAL '3 04:05' DAY TO MINUTE AS a, INTERVAL '7' SECOND AS b, coalesce(sdays * INTERVAL '1' MINUTE, INTERVAL '1' MINUTE) AS c, CASE WHEN id > 7 THEN INTERVAL '1' DAY ELSE days * INTERVAL '1' HOUR END AS e, nullif(days * INTERVAL '2' HOUR, INTERVAL '2' HOUR) AS f, greatest(days * INTERVAL '1' DAY, INTERVAL '3' DAY) AS g FROM times;
SELECT id, extract(SECOND FROM a) AS s, extract(DAY FROM a) AS d, extract(HOUR FROM a) AS h, extract(MINUTE FROM a) AS m FROM (SELECT id, ntz - TIMESTAMP_NTZ'1999-12-31 12:34:56.789012' AS a FROM times);
SELECT id, extract(YEAR FROM a) AS y, extract(MONTH FROM a) AS m, hash(a, sdays * INTERVAL '1' HOUR) AS h, xxhash64(a) AS x FROM (SELECT id, sdays, days * INTERVAL '1' MONTH AS a FROM times);
SELECT a IS NULL AS n, count(*) AS c, extract(MONTH FROM max(a)) AS m FROM (SELECT days * INTERVAL '5' MONTH AS a FROM times) GROUP BY a;
SELECT x.id, y.id AS other FROM (SELECT id, days * INTERVAL '1' YEAR AS a FROM times WHERE id < 40) x JOIN (SELECT id, days * INTERVAL '12' MONTH AS a FROM times WHERE id < 40) y ON x.a = y.a AND x.a > INTERVAL '0' YEAR;
SELECT id, a FROM (SELECT id, d - d2 AS a FROM times WHERE id < 20 UNION ALL SELECT id, INTERVAL '1' DAY FROM times WHERE id < 5) DISTRIBUTE BY a;
SELECT a, count(*) AS n FROM (SELECT explode(array(id, 1)) AS i, d - d2 AS a FROM times WHERE id < 20) GROUP BY a;
SELECT id, a IN (INTERVAL '1' DAY, INTERVAL '0' DAY, NULL) AS i, a BETWEEN INTERVAL '-1' DAY AND INTERVAL '400' DAY AS b FROM (SELECT id, d - d2 AS a FROM times);
-- expect: error INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION
SELECT id, -(huge * INTERVAL '1' MONTH) IS NULL AS a FROM times;
-- Files with intervals, whose types only Spark's metadata has.
SELECT id, dt, hm, extract(YEAR FROM ym) AS y, extract(MONTH FROM m) AS m FROM intervals;
SELECT dt, count(*) AS n, max(hm) AS x, min(hm) AS y FROM intervals WHERE dt > INTERVAL '-100' HOUR OR dt IS NULL GROUP BY dt;
SELECT id FROM intervals WHERE hm = INTERVAL '02:03' HOUR TO MINUTE AND ym >= INTERVAL '1-2' YEAR TO MONTH;
