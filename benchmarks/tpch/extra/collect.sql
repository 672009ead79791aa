-- The lines of each part in one list: 40 values a list, in the order in which they arrive.
select
    l_partkey,
    size(quantities) as count_lines,
    aggregate(quantities, cast(0 as decimal(25, 2)), (total, quantity) -> cast(total + quantity as decimal(25, 2))) as sum_qty
from (
    select l_partkey, collect_list(l_quantity) as quantities from lineitem group by l_partkey
) as parts
