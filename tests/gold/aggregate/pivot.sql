-- PIVOT over values of every type, with several aggregates and pivot values that no row has.
-- tables: tame, texts, numbers, times, empty, batch_plus_one
-- matrix: ansi=true,false ; aqe=true,false

SELECT * FROM (SELECT k, z, i FROM tame) PIVOT (sum(i) FOR z IN (0, 1, 2, 3, 77));
SELECT * FROM (SELECT k, z, i FROM tame) PIVOT (sum(i) AS s, count(*) AS c, avg(i) AS a FOR z IN (0 AS zero, 1 AS one, NULL AS none));
SELECT * FROM (SELECT z, i FROM tame) PIVOT (max(i) FOR z IN (0, 1));
SELECT * FROM (SELECT k, i, id FROM tame) PIVOT (count(id) FOR k IN (1, 2, 3)) WHERE i > 5;
SELECT k, `1_s` + coalesce(`2_s`, 0) AS t FROM (SELECT k, z, i FROM tame) PIVOT (sum(i) AS s, min(i) AS m FOR z IN (1, 2));
SELECT * FROM (SELECT flag, s, id FROM texts) PIVOT (sum(id), min(id) FOR s IN ('', 'a', 'A', 'é', ' '));
SELECT * FROM (SELECT s, flag, id FROM texts) PIVOT (sum(id) FOR flag IN (true, false));
SELECT * FROM (SELECT b2, t, n18, d, f, n38, b FROM numbers) PIVOT (max(n18), sum(d), min(f), max(n38), bool_or(b) FOR t IN (0Y, 1Y, -1Y, 127Y));
SELECT * FROM (SELECT g, flag, n, id FROM batch_plus_one) PIVOT (sum(n) AS s, count(id) AS c FOR flag IN (true, false));
SELECT * FROM (SELECT id, k, z FROM tame) PIVOT (sum(z) FOR k IN (1, 2, 3));
SELECT * FROM (SELECT id, n, d FROM empty) PIVOT (sum(d) FOR n IN (1, 2));
-- floats: approximate
SELECT k, round(`1_a`, 3), `2_c` FROM (SELECT k, z, i FROM tame) PIVOT (stddev(i) AS a, count(i) AS c FOR z IN (1, 2)) ORDER BY k;
-- Functions of other types are not pivoted by arrays.
SELECT * FROM (SELECT k, z, id FROM tame) PIVOT (max(CAST(id AS string)) FOR z IN (0, 1));
-- expect: partly PivotFirst
SELECT * FROM (SELECT k, CAST(z AS double) AS z, i FROM tame) PIVOT (sum(i) FOR z IN (0D, 1D));
