-- Strings of a group, in the order of the rows or of sort keys; the tables are one file, so that rows have an order.
-- tables: tame, texts, times, keys, numbers, empty
-- matrix: ansi=true,false ; batch=7,65536

SELECT listagg(s), listagg(s, ','), string_agg(s2, '–ü'), listagg(s, NULL), listagg(bin), listagg(bin, X'00FF') FROM texts;
SELECT flag, listagg(s), string_agg(s2, ', '), listagg(bin, X'2C'), count(*), max(s) FROM texts GROUP BY flag;
SELECT s, listagg(s2, '|'), listagg(s, '') FROM texts GROUP BY s;
SELECT flag, listagg(s, ',') WITHIN GROUP (ORDER BY s), listagg(s, ',') WITHIN GROUP (ORDER BY s DESC), listagg(bin, X'2C') WITHIN GROUP (ORDER BY bin), listagg(bin) WITHIN GROUP (ORDER BY bin DESC NULLS LAST) FROM texts GROUP BY flag;
SELECT flag, listagg(s, ',') WITHIN GROUP (ORDER BY id), listagg(s, ',') WITHIN GROUP (ORDER BY s2 DESC, id), listagg(s2, ',') WITHIN GROUP (ORDER BY bin NULLS LAST, s DESC NULLS FIRST, id DESC) FROM texts GROUP BY flag;
SELECT listagg(s, ',') WITHIN GROUP (ORDER BY length(s), upper(s), id), listagg(upper(s)) WITHIN GROUP (ORDER BY upper(s)) FROM texts;
SELECT b2, listagg(cast(id AS string), ',') WITHIN GROUP (ORDER BY t, s, i, l, id), listagg(cast(id AS string), ',') WITHIN GROUP (ORDER BY b DESC, s DESC NULLS FIRST, id) FROM numbers GROUP BY b2;
SELECT b2, listagg(cast(id AS string), ',') WITHIN GROUP (ORDER BY d, id), listagg(cast(id AS string), ',') WITHIN GROUP (ORDER BY f DESC, id DESC), listagg(id) FROM numbers GROUP BY b2;
SELECT days, listagg(cast(id AS string), ',') WITHIN GROUP (ORDER BY d, ts DESC, ntz, id) FROM times GROUP BY days;
SELECT k, listagg(i, ';'), listagg(i, ';') WITHIN GROUP (ORDER BY id DESC), sum(i) FROM tame GROUP BY k;
SELECT k, listagg(CAST(i AS string), ';') FILTER (WHERE id > 100), listagg(CAST(i AS string), ';') WITHIN GROUP (ORDER BY i) FILTER (WHERE id < 0) FROM tame GROUP BY k;
SELECT listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s DESC) FROM texts;
SELECT flag, listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s), min(s), listagg(s2) WITHIN GROUP (ORDER BY s2), listagg(s2) WITHIN GROUP (ORDER BY id) FROM texts GROUP BY flag;
SELECT k, z, listagg(CAST(id AS string), ',') WITHIN GROUP (ORDER BY id) FROM tame GROUP BY ROLLUP (k, z);
SELECT listagg(s), listagg(s, ',') WITHIN GROUP (ORDER BY id) FROM empty;
SELECT k, listagg(CAST(i AS string)) FROM tame WHERE id < 0 GROUP BY k;
SELECT listagg(CAST(NULL AS string), ','), listagg('x', ',') FROM tame;
SELECT id, listagg(s, ',') FROM texts GROUP BY id;
-- set: spark.pysparkPipeline.aggregate.passThroughRows=100 ; spark.pysparkPipeline.aggregate.passThroughRatio=1
SELECT id % 50 AS g, listagg(s, ',') WITHIN GROUP (ORDER BY id), listagg(s2, ',') FROM texts GROUP BY 1;
-- set: spark.sql.shuffle.partitions=3 ; spark.sql.execution.useObjectHashAggregateExec=false
SELECT flag, listagg(s, ',') WITHIN GROUP (ORDER BY id) FROM texts GROUP BY flag;
-- Spark's order of distinct values is that of a hash map.
-- expect: partly listagg
SELECT length(listagg(DISTINCT i, ';')) FROM tame;
-- expect: partly listagg
SELECT k, length(listagg(DISTINCT i, ';')), count(DISTINCT z) FROM tame GROUP BY k;
-- expect: partly decimal
SELECT listagg(cast(id AS string)) WITHIN GROUP (ORDER BY n18, id) FROM numbers;
-- expect: partly listagg
SELECT k, length(listagg(i, ';')), sum(DISTINCT z) FROM tame GROUP BY k;
