-- Orders of arrays and structs: element by element, NULL before every value, a prefix before its array.
-- tables: nests

-- rows: ordered
select id, st from nests order by st, id;

-- rows: ordered
select id, ad from nests order by ad desc, id;

-- rows: ordered
select id, an, at from nests order by an desc nulls first, at nulls last, id desc;

-- rows: ordered
select id, aa from nests order by aa nulls last, id desc limit 20;

-- rows: ordered
select id, at from nests order by at desc nulls first, id limit 20 offset 3;

-- rows: ordered
select id from nests order by struct(k, ad), id limit 7;

select id, ay from nests sort by ay, id;

-- A global sort by ranges.
-- set: spark.pysparkPipeline.sort.gatherBytes=0
-- rows: ordered
select id, st, ad from nests order by ad, st, id;

select /*+ repartition(3, ai, st) */ id, ai, st from nests;

select /*+ repartition_by_range(3, ad, k) */ id, ad from nests;
