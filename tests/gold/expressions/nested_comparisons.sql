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
