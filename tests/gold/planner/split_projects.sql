-- Projects of which the engine computes the supported expressions, or supported parts, below the others.
-- tables: texts, numbers
-- matrix: ansi=true,false ; aqe=true,false

-- expect: partly to_xml
SELECT id, upper(s) AS u, to_xml(struct(1, hex(s))) AS m FROM texts WHERE id < 40;
-- expect: partly to_xml
SELECT id + 1 AS n, to_xml(struct(1, hex(concat(upper(s), '. x')))) AS m, concat(lower(s), '!') AS l FROM texts WHERE id < 40;
-- expect: partly to_xml
SELECT length(to_xml(struct(1, hex(concat(upper(s), '. x'))))) + id % 3 AS m FROM texts WHERE id < 40;
-- expect: partly to_xml
SELECT u, count(*), max(m) FROM (SELECT id % 3 AS u, i * 2L AS i, to_xml(struct(1, CAST(d AS string))) AS m FROM numbers WHERE id < 200) GROUP BY u;
-- A division that Spark evaluates only where the condition holds stays there.
-- expect: partly to_xml
SELECT id * 2 AS t, CASE WHEN i <> 0 THEN to_xml(struct(1, CAST(100 / i AS string))) ELSE 'none' END AS m FROM numbers WHERE id < 200;
-- expect: partly to_xml
SELECT CASE WHEN id < 0 THEN to_xml(struct(1, CAST(1 / i AS string))) END AS m, -id AS n FROM numbers WHERE id < 200;
-- expect: partly to_xml
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT 100 / i AS q, to_xml(struct(1, CAST(id AS string))) AS m FROM numbers WHERE id < 200;
-- expect: partly to_xml
SELECT a.t, b.id FROM (SELECT id * 2 AS t, to_xml(struct(1, hex(s))) AS m FROM texts) a JOIN texts b ON a.m = b.s AND a.t = b.id;
