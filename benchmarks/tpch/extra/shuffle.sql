-- Three columns of the largest table shuffled by a hash of the first: the two sides of an exchange, and little else.
select
    count(*) as count_lines,
    sum(l_extendedprice) as sum_price,
    max(l_shipdate) as last_day
from
    (
        select /*+ repartition(200, l_orderkey) */
            l_orderkey,
            l_extendedprice,
            l_shipdate
        from
            lineitem
    )
where
    l_orderkey > 0
