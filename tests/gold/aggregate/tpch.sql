-- The shapes of TPC-H queries 1 and 6, and their parts, over a small lineitem.
-- tables: lineitem_tiny
-- matrix: ansi=true,false ; aqe=true,false

SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
  sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
FROM lineitem_tiny WHERE l_shipdate <= DATE'1998-12-01' - INTERVAL '90' DAY
GROUP BY l_returnflag, l_linestatus;
SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem_tiny
WHERE l_shipdate >= DATE'1994-01-01' AND l_shipdate < DATE'1994-01-01' + INTERVAL '1' YEAR
  AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24;
SELECT l_shipmode, sum(CASE WHEN l_returnflag = 'R' OR l_returnflag = 'A' THEN 1 ELSE 0 END) AS high, count(*)
FROM lineitem_tiny WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_shipdate >= DATE'1994-01-01' GROUP BY l_shipmode;
SELECT 100.00 * sum(CASE WHEN l_shipmode LIKE 'REG%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
  / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue FROM lineitem_tiny;
SELECT year(l_shipdate) AS y, month(l_shipdate) AS m, count(*), sum(l_quantity) FROM lineitem_tiny GROUP BY 1, 2;
SELECT substring(l_comment, 1, 9) AS c, count(*), max(l_extendedprice) FROM lineitem_tiny GROUP BY 1;
SELECT l_orderkey, l_linenumber, sum(l_tax) FROM lineitem_tiny GROUP BY l_orderkey, l_linenumber;
-- expect: any
SELECT count(DISTINCT l_orderkey), count(DISTINCT l_shipmode) FROM lineitem_tiny WHERE l_shipmode = 'AIR';
SELECT l_returnflag, count(DISTINCT l_shipmode), avg(l_extendedprice) FROM lineitem_tiny GROUP BY l_returnflag;
