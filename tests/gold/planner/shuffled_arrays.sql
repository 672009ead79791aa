-- Arrays in a random order: that of Spark for a seed, in several partitions and chunks.
-- tables: nests, empty, numbers
-- matrix: ansi=true,false ; aqe=true ; codegen=true,false
-- answers: by plan
-- set: spark.sql.files.maxPartitionBytes=10000 ; spark.sql.files.openCostInBytes=0

SELECT id, shuffle(ai, 5) AS a, shuffle(at, 6) AS b, shuffle(aa, -7) AS c, shuffle(ast, 8) AS d FROM nests;
SELECT id, shuffle(ai, 5) AS a, shuffle(ad, 0) AS b, shuffle(an, 9223372036854775807) AS c, shuffle(ay, -9223372036854775808) AS d, shuffle(ai, 5) AS e, shuffle(at, 5) AS f FROM nests WHERE id % 3 = 1;
SELECT id, shuffle(array(k, 'x', NULL), 4)[0] AS b, rand(4) AS r, size(shuffle(ai, 3)) AS s, shuffle(array(), 3) AS c, shuffle(NULL, 3) AS d FROM nests;
SELECT id FROM nests WHERE get(shuffle(ai, 4), 0) > 5;
SELECT id, i FROM nests WHERE id % 2 = 1 AND get(shuffle(array(i, 5, NULL), 4), 1) > 5;
SELECT id, array_sort(shuffle(ai)) AS a, size(shuffle(at)) AS s FROM nests;
SELECT id, shuffle(array(1, 20, 3, 5, 6, 7), 4) AS a, shuffle(array(id, NULL, 0L), 4) AS b FROM range(0, 20000, 1, 5);
SELECT id, shuffle(sequence(1, 100), 4) AS a FROM range(0, 300, 1, 2);
SELECT id, shuffle(array(id, i, NULL), 4) AS a FROM nests;
SELECT id, shuffle(ai, 5) AS a FROM nests WHERE id < 0;
SELECT id, shuffle(array(id, id), 5) AS a FROM empty;
SELECT id, a, shuffle(a, 3) AS b FROM (SELECT id, shuffle(ai, 4) AS a FROM nests);
SELECT id, transform(shuffle(ai, 4), x -> x > 1) AS a, concat(shuffle(ai, 3), ai) AS b FROM nests;
SELECT id, shuffle(array(d, d2), 1) AS a, shuffle(array(b, NULL, b2), 2) AS b, shuffle(array(n38, NULL), 3) AS c FROM numbers;
-- An array that is computed, a branch, an array of a generator.
-- expect: partly computed array
SELECT id, shuffle(array(i + 1, i), 4) AS a FROM nests;
-- expect: partly not evaluated for every row
SELECT id, CASE WHEN id > 3 THEN shuffle(ai, 4) END AS a FROM nests;
-- expect: partly Generate
SELECT id, explode(shuffle(ai, 4)) AS a FROM nests;
-- expect: partly above a union
SELECT id, shuffle(ai, 4) AS a FROM (SELECT id, ai FROM nests UNION ALL SELECT id, ai FROM nests);
