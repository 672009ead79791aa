-- Window functions of arrays, maps and structs.
-- tables: nests

select id, st < st2 from (select id, st, lag(st) over (order by id) st2 from nests);

select id, lead(m) over (partition by k order by id) b, lead(ast, 1) ignore nulls over (order by id) c,
  lag(aa) ignore nulls over (partition by i order by id), lag(ai, 2, ai) over (order by id) from nests;

select id, first(st) over (partition by k order by id) a,
  last(ai) over (partition by k order by id rows between 2 preceding and 1 following) b,
  nth_value(m, 2) over (partition by i order by id) c from nests;

select id, first(st) ignore nulls over (partition by k order by id desc) a,
  last(ad) ignore nulls over (partition by k order by id) b, count(ai) over (partition by k order by id) from nests;

select id, max_by(st, id) over (partition by k) a,
  min_by(at, id) over (partition by k order by id rows between 3 preceding and current row) from nests;

select id, any_value(m) over (partition by k order by id rows between unbounded preceding and unbounded following) from nests;

-- expect: partly
select id, lag(ai, 2, array(9)) over (order by id) a from nests;

select id, max(struct(i, id)) over (partition by k order by id) a, min(ai) over (partition by k) b,
  max_by(id, struct(i, id)) over (order by id rows between 2 preceding and current row) c,
  min(ai) over (order by id rows between 1 preceding and 1 following) d, max(st) over (order by id) e from nests;
