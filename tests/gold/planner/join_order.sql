-- Inner joins of which a table whose key the query groups by is joined last.
-- tables: tame, times, empty, numbers
-- matrix: ansi=true,false ; aqe=true,false
-- set: spark.sql.autoBroadcastJoinThreshold=1 ; spark.pysparkPipeline.join.order=always

-- Q10 of TPC-H: the first table is joined last.
SELECT a.id, a.k, a.n9, sum(c.n15 * b.z) AS v FROM tame a JOIN tame b ON a.id = b.i JOIN tame c ON b.z = c.z WHERE b.z > 0 GROUP BY a.id, a.k, a.n9;
-- With tables that are joined to it alone, before and after, and columns computed below the grouping.
SELECT a.id, a.k, d.days, count(*) AS n, max(c.l) AS l FROM tame a JOIN times d ON a.z = d.days JOIN tame b ON a.id = b.i JOIN tame c ON b.z = c.z GROUP BY 1, 2, 3;
SELECT a.id, concat(a.k, '-', c.z) AS t, min(b.n38) AS m FROM tame a JOIN tame b ON a.id = b.i JOIN tame c ON b.z = c.z JOIN times d ON a.z = d.days GROUP BY 1, 2;
-- Four tables, two of them joined to the same; two columns as key; the key of the other side.
SELECT a.id, a.k, sum(d.i) AS v FROM tame a JOIN tame b ON a.id = b.i JOIN tame c ON b.z = c.z JOIN tame d ON b.l = d.l AND c.id = d.id GROUP BY a.id, a.k;
SELECT b.i, a.k, a.z, count(c.s) AS n FROM tame a JOIN tame b ON a.i = b.i AND a.z = b.z JOIN tame c ON b.id = c.i GROUP BY b.i, a.k, a.z;
-- Keys of other types, of which those of floating-point numbers are not compared bit by bit.
SELECT a.k, a.b, count(*) AS n FROM tame a JOIN tame b ON a.k = b.k JOIN tame c ON b.id = c.i GROUP BY a.k, a.b;
SELECT a.d, a.k, count(*) AS n FROM tame a JOIN tame b ON a.d = b.d JOIN tame c ON b.id = c.i GROUP BY a.d, a.k;
SELECT a.n38, a.k, count(*) AS n FROM tame a JOIN tame b ON a.n38 = b.n38 JOIN tame c ON b.id = c.i GROUP BY a.n38, a.k;
-- No rows that are joined; in a subquery, with DISTINCT, and with HAVING.
SELECT a.id, a.k, count(*) AS n FROM tame a JOIN tame b ON a.id = b.i JOIN tame c ON b.id = c.l GROUP BY a.id, a.k;
SELECT k, n FROM (SELECT a.id, a.k, count(*) AS n FROM tame a JOIN tame b ON a.id = b.i JOIN tame c ON b.z = c.z GROUP BY a.id, a.k) WHERE n > (SELECT count(*) / 100 FROM tame a JOIN tame b ON a.id = b.i);
SELECT a.id, a.k, count(DISTINCT c.t) AS n, count(DISTINCT b.z) AS m FROM tame a JOIN tame b ON a.id = b.i JOIN tame c ON b.z = c.z GROUP BY a.id, a.k HAVING count(*) > 1;
