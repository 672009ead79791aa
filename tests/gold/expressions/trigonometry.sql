-- Sine, cosine, tangent and their reciprocals with the bits of Java's Math on x86.
-- tables: numbers, tame
-- matrix: ansi=true,false

SELECT id, sin(d) AS a, cos(d) AS b, tan(d) AS c, sin(d2) AS e, cos(d2) AS g, tan(d2) AS h FROM numbers;
SELECT id, cot(d) AS a, sec(d) AS b, csc(d) AS c, cot(d2) AS e, sec(d2) AS g, csc(d2) AS h FROM numbers;
SELECT id, sin(f) AS a, cos(i) AS b, tan(l) AS c, cot(i) AS e, sec(l) AS g, csc(f) AS h FROM numbers;
-- Multiples of pi/64 and what is next to them.
SELECT id, sin(id * pi() / 64) AS a, cos(id * pi() / 64) AS b, tan(id * pi() / 64) AS c, cot(id * pi() / 64) AS e FROM numbers;
SELECT id, sin(-id * 0.04908738521234052D - 5e-17D) AS a, cos(id * 0.049087385212340524D) AS b, tan(id * 0.04908738521234051D) AS c FROM numbers;
SELECT id, sec(id * pi() / 2) AS a, csc(id * pi()) AS b, cot(id * pi()) AS c, cot(id * pi() / 2) AS e FROM numbers;
-- Results that are not the nearest numbers, in every reduction.
SELECT id, sin(id + 1100) AS a, cos(id + 1700) AS b, tan(id * 100) AS c, sin(id / 100D) AS e, cos(id / 100D) AS g, tan(id / 100D) AS h FROM numbers;
SELECT id, sin(id * 1001) AS a, cos(id * 1001) AS b, tan(id * 1001) AS c, sin(id * 1e5D) AS e, cos(-id * 1e22D) AS g, tan(id * 1e19D) AS h FROM numbers;
SELECT id, sin(id * 1e305D) AS a, cos(id * 1e305D) AS b, tan(id * 1e305D) AS c, sin(xxhash64(id)) AS e, cos(xxhash64(id)) AS g, tan(xxhash64(id)) AS h FROM numbers;
-- Small numbers, and the limits of the tables.
SELECT id, sin(id * 5e-324D) AS a, cos(id * 5e-324D) AS b, tan(id * 5e-324D) AS c, csc(-id * 5e-324D) AS e, cot(id * 5e-310D) AS g FROM numbers;
SELECT id, sin(id * 1e-78D) AS a, cos(id * 1e-10D) AS b, tan(id * 1e-18D) AS c, tan(id * 1e-3D) AS e, csc(id * 1e-160D) AS g, sec(id * 1e-9D) AS h FROM numbers;
SELECT id, sin(90111 + id / 100D) AS a, cos(90111 + id / 100D) AS b, tan(12543 + id) AS c FROM numbers;
SELECT id, sin(CASE id % 8 WHEN 0 THEN 0D WHEN 1 THEN -0D WHEN 2 THEN double('NaN') WHEN 3 THEN double('Infinity') WHEN 4 THEN double('-Infinity') WHEN 5 THEN 1.7976931348623157e308D WHEN 6 THEN 1e22D END) AS a FROM tame;
SELECT id, cot(CASE id % 7 WHEN 0 THEN 0D WHEN 1 THEN -0D WHEN 2 THEN double('NaN') WHEN 3 THEN double('Infinity') WHEN 4 THEN -1.7976931348623157e308D WHEN 5 THEN 5e-324D END) AS a FROM tame;
SELECT id, sec(CASE id % 6 WHEN 0 THEN 0D WHEN 1 THEN -0D WHEN 2 THEN double('NaN') WHEN 3 THEN double('-Infinity') WHEN 4 THEN 1.7976931348623157e308D END) AS a FROM tame;
SELECT id, csc(CASE id % 6 WHEN 0 THEN 0D WHEN 1 THEN -0D WHEN 2 THEN double('NaN') WHEN 3 THEN double('-Infinity') WHEN 4 THEN 1.7976931348623157e308D END) AS a FROM tame;
SELECT sin(d) AS k, count(*) AS n, sum(cos(d2)) IS NULL AS m FROM numbers GROUP BY 1;
SELECT id FROM numbers WHERE sin(d) > 0 AND cos(d) < 0 OR tan(d2) IS NULL OR cot(d) = double('Infinity');
SELECT id, sin(d) AS a, cos(d2) AS b, tan(d) AS c FROM numbers WHERE id < 0;
