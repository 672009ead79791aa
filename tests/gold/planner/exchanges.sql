-- Exchanges asked for by hints: hash, single, round robin; and what they feed.
-- tables: numbers, texts, tame
-- matrix: ansi=true ; aqe=true,false

SELECT /*+ REPARTITION(3) */ * FROM numbers;
SELECT /*+ REPARTITION(1) */ id, i FROM numbers;
SELECT /*+ REPARTITION(3, i) */ * FROM numbers;
SELECT /*+ REPARTITION(7, s, flag) */ * FROM texts;
SELECT /*+ REPARTITION(i) */ id FROM numbers;
SELECT i, count(*) FROM (SELECT /*+ REPARTITION(5) */ i FROM numbers) GROUP BY i;
SELECT i, count(*) FROM (SELECT /*+ REPARTITION(5, i) */ i FROM numbers) GROUP BY i;
SELECT i, b, count(*) FROM (SELECT /*+ REPARTITION(2, i) */ i, b FROM numbers) GROUP BY i, b;
SELECT count(*) FROM (SELECT /*+ REPARTITION(1) */ i FROM numbers);
SELECT /*+ REPARTITION(3, x) */ i + 1L AS x FROM numbers WHERE i IS NOT NULL;
SELECT /*+ COALESCE(1) */ id FROM numbers WHERE i > 0;
-- Ranges.
SELECT /*+ REPARTITION_BY_RANGE(3, id) */ id FROM numbers WHERE i > 0;
-- An exchange that nothing above needs all columns of.
SELECT id FROM (SELECT /*+ REPARTITION(3, i) */ * FROM numbers) WHERE d > 0;
