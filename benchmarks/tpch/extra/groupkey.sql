-- As many groups as there are orders: the aggregation, its exchange and its memory, and little else.
select
    l_orderkey,
    sum(l_quantity) as sum_qty,
    count(*) as count_lines
from
    lineitem
group by
    l_orderkey
