-- Projects of which the engine computes the supported expressions, or supported parts, below the others.
-- tables: texts, numbers
-- matrix: ansi=true,false ; aqe=true,false

-- expect: partly array
SELECT id, upper(s) AS u, concat_ws('', array(s)) AS m FROM texts WHERE id < 40;
-- expect: partly array
SELECT id + 1 AS n, concat_ws('', array(concat(upper(s), '. x'))) AS m, concat(lower(s), '!') AS l FROM texts WHERE id < 40;
-- expect: partly array
SELECT length(concat_ws('', array(concat(upper(s), '. x')))) + id % 3 AS m FROM texts WHERE id < 40;
-- expect: partly array
SELECT u, count(*), max(m) FROM (SELECT id % 3 AS u, i * 2L AS i, concat_ws('', array(CAST(d AS string))) AS m FROM numbers WHERE id < 200) GROUP BY u;
-- A division that Spark evaluates only where the condition holds stays there.
-- expect: partly array
SELECT id * 2 AS t, CASE WHEN i <> 0 THEN concat_ws('', array(CAST(100 / i AS string))) ELSE 'none' END AS m FROM numbers WHERE id < 200;
-- expect: partly array
SELECT CASE WHEN id < 0 THEN concat_ws('', array(CAST(1 / i AS string))) END AS m, -id AS n FROM numbers WHERE id < 200;
-- expect: partly array
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT 100 / i AS q, concat_ws('', array(CAST(id AS string))) AS m FROM numbers WHERE id < 200;
-- expect: partly array
SELECT a.t, b.id FROM (SELECT id * 2 AS t, concat_ws('', array(s)) AS m FROM texts) a JOIN texts b ON a.m = b.s AND a.t = b.id;
