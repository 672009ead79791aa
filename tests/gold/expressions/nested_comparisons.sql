-- Comparisons and hashes of arrays and structs.
-- tables: nests

select id, ai = array(1, null), ai <=> array(1), ad > array(0.0D), ad <= array(cast('NaN' as double)), array() = ai from nests;

select a.id, a.ai < b.ai, a.ad >= b.ad, a.st <= b.st, a.at > b.at, a.aa = b.aa, a.an <=> b.an, a.ay != b.ay
from nests a join nests b on b.id = (a.id * 7) % 300;

select id, st = named_struct('x', 1, 's', 'a', 'd', cast(1.25 as decimal(9, 2)), 'in', st.in), st.in > st.in,
  named_struct('a', i, 'b', k) < named_struct('a', 1, 'b', 'é') from nests;

select id from nests where at >= array('a', 'é') and st.in <= named_struct('u', st.in.u, 'v', array(5));

select id, case when ai = array(1) then 'one' when ad <=> null then 'null' else 'other' end from nests;

select id, hash(ai), hash(st), xxhash64(st, aa, k), hash(ad), hash(an, ay), hash(array(), null), xxhash64(array(i, id)) from nests;

-- set: spark.sql.legacy.allowHashOnMapType=true
select id, hash(m), xxhash64(ms, i), hash(ast) from nests;

-- Names of fields that differ in case.
select id, named_struct('a', i) = named_struct('A', id), named_struct('a', i) < named_struct('A', 3), array(named_struct('a', i)) <=> array(named_struct('A', 1)) from nests;

-- Membership, and the greatest and the least value.
select id, struct(i, k) in (struct(1, 'a'), struct(0, 'é'), struct(cast(null as int), cast(null as string))), ai in (array(1), ai, array(1, null)), named_struct('a', i) in (named_struct('A', 2), null) from nests;

select id, ai in (array(1), array(2), array(3), array(4), array(5), array(6), array(7), array(8), array(9), array(10), array(), array(cast(null as int)), null), ad in (array(double('NaN')), array(0.0D), array(1.5D, null)), st.in in (st.in, null) from nests;

select id, struct(i, k) in (struct(1, 'a'), struct(2, 'a'), struct(3, 'a'), struct(4, 'a'), struct(5, 'kk'), struct(6, 'a'), struct(7, 'a'), struct(8, 'a'), struct(9, 'a'), struct(10, 'a'), struct(0, 'é')) from nests;

select id from nests where (i, k) in ((1, 'a'), (2, 'é'), (5, 'zz'));

select id, greatest(ai, array(1), array(null)), least(st, st), least(ai, array(i)), greatest(struct(i, k), struct(1 as i, 'b' as k), null), least(ad, array(-0.0D), array(double('NaN'))) from nests;
