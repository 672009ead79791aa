-- Scalar subqueries that are correlated and may return several rows, which is an error: joins of kind LeftSingle.
-- tables: tame, keys
-- matrix: ansi=true ; aqe=true,false

SELECT a.id, (SELECT b.l FROM tame b WHERE b.id = a.i) FROM tame a;
SELECT a.id, (SELECT b.k FROM tame b WHERE b.id = a.id + 1 AND b.d > 0) FROM tame a;
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id = a.i AND b.d > a.d) FROM tame a;
SELECT a.id FROM tame a WHERE (SELECT b.id FROM tame b WHERE b.id = a.i) > 5;
SELECT a.id, (SELECT b.n38 FROM keys b WHERE b.id = a.id), (SELECT b.str FROM keys b WHERE b.id = a.i + 1) FROM tame a;
SELECT a.k, count((SELECT b.k FROM tame b WHERE b.id = a.i)) FROM tame a GROUP BY a.k;
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id = a.i AND b.id < 0) FROM tame a;
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id = a.i) FROM (SELECT * FROM tame WHERE id < 0) a;
-- No equal keys.
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id > a.id AND b.id < a.id + 2) FROM tame a;
SELECT a.id, (SELECT b.k FROM tame b WHERE b.id > a.i AND b.id < 3 AND a.i > 1) FROM tame a;
-- Spark would compare every pair of rows; the engine shuffles both sides.
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, (SELECT b.l FROM tame b WHERE b.id = a.i) FROM tame a;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id = a.i AND b.d > a.d) FROM tame a WHERE a.id < 50;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id = a.i AND b.id < 0) FROM tame a;
SELECT a.id, (SELECT /*+ SHUFFLE_HASH(b) */ b.k FROM tame b WHERE b.id = a.i) FROM tame a;
-- expect: error SCALAR_SUBQUERY_TOO_MANY_ROWS
SELECT a.id, (SELECT b.id FROM tame b WHERE b.i = a.i) FROM tame a;
-- set: spark.sql.autoBroadcastJoinThreshold=-1
-- expect: error SCALAR_SUBQUERY_TOO_MANY_ROWS
SELECT a.id, (SELECT b.id FROM tame b WHERE b.i = a.i) FROM tame a;
-- expect: error SCALAR_SUBQUERY_TOO_MANY_ROWS
SELECT a.id, (SELECT b.id FROM tame b WHERE b.i = a.i AND b.id >= a.id) FROM tame a;
-- expect: error SCALAR_SUBQUERY_TOO_MANY_ROWS
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id > a.id) FROM tame a;
-- expect: error DIVIDE_BY_ZERO
SELECT a.id, (SELECT b.id FROM tame b WHERE b.id = a.i AND a.id / (b.id - b.id) > 1) FROM tame a;
