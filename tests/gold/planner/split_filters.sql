-- Filters of which the engine evaluates the conjuncts before the first one that it does not support.
-- tables: texts, numbers
-- matrix: ansi=true,false ; aqe=true,false

-- expect: partly to_xml
SELECT id, s FROM texts WHERE id > 20 AND length(s) > 1 AND to_xml(struct(1, s)) <> 'xxxx' AND id % 3 < 2;
-- expect: partly to_xml
SELECT count(*) AS n, max(s) AS m FROM texts WHERE s LIKE '%a%' AND to_xml(struct(1, hex(s))) <> '☃';
-- The divisor is tested before the unsupported conjunct, and in Spark's order after it.
-- expect: partly to_xml
SELECT id, i FROM numbers WHERE i <> 0 AND 100 / i > -5 AND to_xml(struct(1, CAST(id AS string))) <> 'n';
-- expect: partly to_xml
-- expect[ansi=true]: error DIVIDE_BY_ZERO
SELECT id, i FROM numbers WHERE id > 0 AND to_xml(struct(1, CAST(id AS string))) <> 'q' AND 100 / i > -5;
-- expect: partly to_xml
SELECT a.id, b.s FROM (SELECT * FROM texts WHERE id < 100 AND to_xml(struct(1, hex(s))) <> 'x') a JOIN texts b ON a.id = b.id;
