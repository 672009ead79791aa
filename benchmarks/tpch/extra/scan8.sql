-- Eight columns of the largest table: the scan and the way back into Spark.
select
    l_orderkey,
    l_partkey,
    l_quantity,
    l_extendedprice,
    l_discount,
    l_returnflag,
    l_linestatus,
    l_shipdate
from
    lineitem
where
    l_quantity >= 0
