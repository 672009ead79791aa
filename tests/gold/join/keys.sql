-- Join keys of every type: NULL, NaN, zeros of both signs, ends of ranges, Unicode.
-- tables: keys, clocks
-- matrix: ansi=true ; aqe=true,false
-- set: spark.sql.autoBroadcastJoinThreshold=-1

SELECT a.b, count(*) FROM keys a JOIN keys b ON a.b = b.b GROUP BY a.b;
SELECT a.t, count(*) FROM keys a JOIN keys b ON a.t = b.t GROUP BY a.t;
SELECT a.s, count(*) FROM keys a JOIN keys b ON a.s = b.s GROUP BY a.s;
SELECT a.i, count(*) FROM keys a JOIN keys b ON a.i = b.i GROUP BY a.i;
SELECT a.l, count(*) FROM keys a JOIN keys b ON a.l = b.l GROUP BY a.l;
SELECT a.f, count(*) FROM keys a JOIN keys b ON a.f = b.f GROUP BY a.f;
SELECT a.d, count(*) FROM keys a JOIN keys b ON a.d = b.d GROUP BY a.d;
SELECT a.n9, count(*) FROM keys a JOIN keys b ON a.n9 = b.n9 GROUP BY a.n9;
SELECT a.n18, count(*) FROM keys a JOIN keys b ON a.n18 = b.n18 GROUP BY a.n18;
SELECT a.n38, count(*) FROM keys a JOIN keys b ON a.n38 = b.n38 GROUP BY a.n38;
SELECT a.str, count(*) FROM keys a JOIN keys b ON a.str = b.str GROUP BY a.str;
SELECT a.bin, count(*) FROM keys a JOIN keys b ON a.bin = b.bin GROUP BY a.bin;
SELECT a.dt, count(*) FROM keys a JOIN keys b ON a.dt = b.dt GROUP BY a.dt;
SELECT a.ts, count(*) FROM keys a JOIN keys b ON a.ts = b.ts GROUP BY a.ts;
SELECT a.ntz, count(*) FROM keys a JOIN keys b ON a.ntz = b.ntz GROUP BY a.ntz;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.i = b.i AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.l = b.l AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.f = b.f AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.d = b.d AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.n9 = b.n9 AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.n18 = b.n18 AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.n38 = b.n38 AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.str = b.str AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.bin = b.bin AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.dt = b.dt AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.ts = b.ts AND b.id > 5;
SELECT a.id FROM keys a LEFT ANTI JOIN keys b ON a.ntz = b.ntz AND b.id > 5;
SELECT count(*) FROM keys a JOIN keys b ON a.str = b.str AND a.dt = b.dt AND a.n9 = b.n9;
SELECT a.id, b.id FROM keys a FULL JOIN keys b ON a.void = b.one;
SELECT a.id, b.id FROM keys a LEFT JOIN keys b ON a.i = b.l WHERE a.id < 50;
SELECT count(*) FROM keys a JOIN keys b ON a.n9 = b.n18;
SELECT count(*) FROM keys a JOIN keys b ON a.f = b.d;
SELECT count(*) FROM keys a JOIN keys b ON cast(a.t AS int) + 1 = cast(b.s AS int);
SELECT count(*) FROM keys a JOIN keys b ON substring(a.str, 1, 2) = substring(b.str, 1, 2);
SELECT a.t, count(*) FROM clocks a JOIN clocks b ON a.t = b.t2 GROUP BY a.t;
SELECT a.id, b.t FROM clocks a LEFT JOIN clocks b ON a.t = b.t AND a.id = b.id + 1 WHERE a.id < 50;
SELECT a.id FROM clocks a LEFT ANTI JOIN (SELECT t2 FROM clocks WHERE t2 > TIME'12:00:00') b ON a.t = b.t2;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM clocks a JOIN clocks b ON a.t = b.t AND a.t2 = b.t2 WHERE b.id < 20;
SELECT /*+ BROADCAST(b) */ a.id, b.id FROM clocks a JOIN clocks b ON a.t <=> b.t WHERE b.id < 20 AND b.t2 < TIME'01:00:00';
