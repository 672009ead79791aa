-- Groups of arrays and structs: NULL, empty, NaN and both zeros at each level; keys that expressions make.
-- tables: nests

select st, count(*), sum(i) from nests group by st;

select ai, k, count(*), min(id) from nests group by ai, k;

select distinct aa, ad, ay from nests;

select ad, max(id), avg(i) from nests group by ad;

select st.in g, count(*) from nests group by st.in;

select struct(i, ad) s, count(k) from nests group by struct(i, ad);

select array(k, null, cast(i as string)) s, max(id) from nests group by 1 having max(id) > 20;

select count(distinct st), count(distinct ai, k) from nests;

select k, count(distinct ad), sum(distinct i) from nests group by k;

select ai, at, count(*) from nests group by cube(ai, at);

select at, ad, grouping(at), count(*) from nests group by grouping sets ((at, ad), (ad), ());

select ai from nests union select ai from nests where id < 5;

select ai, k from nests intersect select ai, k from nests where id < 50;

select ad from nests except select ad from nests where id < 20;

select id, st from nests where id < 0 group by id, st;

select s, collect_list(id) from (select struct(k, i) s, id from nests order by id) group by s;

-- The states of groups with nested keys spill, and their values with them.
select st, aa, count(*), max(k) from nests group by st, aa;

-- expect: partly
select m, count(*) from (select map(k, 1) m from nests where k is not null) group by m;
