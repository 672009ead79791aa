-- One batch plus one row, many groups, and groups that a partial aggregation cannot reduce.
-- tables: batch_plus_one, lineitem_tiny
-- matrix: ansi=true ; spark.pysparkPipeline.batchRows=65536,1000

SELECT g, count(*), sum(id), sum(n) FROM batch_plus_one GROUP BY g;
SELECT flag, count(*), avg(n), min(id), max(id) FROM batch_plus_one GROUP BY flag;
-- expect: any
SELECT count(*), count(DISTINCT id), count(DISTINCT g) FROM batch_plus_one WHERE id % 2 = 0;
SELECT count(*), min(c), max(c), sum(s) FROM (SELECT id, count(*) AS c, sum(n) AS s FROM batch_plus_one GROUP BY id);
-- set: spark.pysparkPipeline.aggregate.passThroughRows=1000
SELECT count(*), min(c), max(c), sum(s), sum(m) FROM (SELECT id, count(*) AS c, sum(n) AS s, avg(n) AS m FROM batch_plus_one GROUP BY id);
-- set: spark.pysparkPipeline.aggregate.passThroughRows=100 ; spark.pysparkPipeline.aggregate.passThroughRatio=1
SELECT g, flag, count(*), count(n), sum(n), avg(n), min(n), max(n) FROM batch_plus_one GROUP BY g, flag;
-- set: spark.pysparkPipeline.exchange.chunkBytes=1000
SELECT g, count(*), sum(id) FROM batch_plus_one GROUP BY g;
SELECT l_orderkey, sum(l_quantity), count(*) FROM lineitem_tiny GROUP BY l_orderkey HAVING sum(l_quantity) > 120;
