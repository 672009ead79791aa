-- Joins by arrays and structs: a NULL matches nothing, NULLs below it are equal, and NaN equals NaN.
-- tables: nests
-- matrix: aqe=true,false

select a.id, b.id from nests a join nests b on a.ai = b.ai and a.id < 40;

select a.id, b.id from nests a left join nests b on a.st = b.st and b.id % 2 = 0;

select a.id from nests a left semi join nests b on a.ad = b.ad and b.id < 9;

select a.id, b.id from nests a join nests b on a.ad <=> b.ad where a.id < 50;

select id from nests where ai not in (select ai from nests where id < 4);

select id from nests where st not in (select st from nests where id < 40 and st is not null);

select id, st in (select st from nests where id % 3 = 0) from nests;

select a.k, count(*) from nests a full outer join (select * from nests where id < 30) b on a.at = b.at and a.ay = b.ay group by a.k;

select /*+ shuffle_hash(b) */ a.id, b.id from nests a join nests b on a.an = b.an where b.id < 20;

select /*+ merge(b) */ a.id, b.k from nests a join nests b on a.st = b.st and a.aa = b.aa;

select /*+ broadcast(b) */ count(*) from nests a right join nests b on struct(a.k, a.i) = struct(b.k, b.i);
