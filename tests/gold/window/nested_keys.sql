-- Windows over partitions and orders of arrays and structs.
-- tables: nests

select id, ai, row_number() over (partition by ai order by id) r from nests;

select id, rank() over (order by ad) r, cume_dist() over (order by ad) c from nests;

select id, rank() over (partition by k order by st desc nulls last) r from nests;

select id, dense_rank() over (partition by i order by an) r,
  sum(i) over (partition by aa order by ay range between unbounded preceding and current row) s from nests;

select id, percent_rank() over (partition by i order by at, id) p, ntile(4) over (order by st, id) t from nests;

select * from (select id, k, row_number() over (partition by st.s order by ai, id) r from nests) where r <= 2;
