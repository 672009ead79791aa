-- approx_count_distinct of every type.
-- tables: numbers, tame, texts, times, keys, empty
-- matrix: ansi=true,false ; batch=7

SELECT approx_count_distinct(t), approx_count_distinct(s), approx_count_distinct(i), approx_count_distinct(l), approx_count_distinct(f), approx_count_distinct(d), approx_count_distinct(d2), approx_count_distinct(n9), approx_count_distinct(n18), approx_count_distinct(n38), approx_count_distinct(n380), approx_count_distinct(b), approx_count_distinct(nothing), approx_count_distinct(id) FROM numbers;
SELECT b2, approx_count_distinct(t), approx_count_distinct(s), approx_count_distinct(i), approx_count_distinct(l), approx_count_distinct(f), approx_count_distinct(d), approx_count_distinct(d2), approx_count_distinct(n9), approx_count_distinct(n18), approx_count_distinct(n38), approx_count_distinct(n380), approx_count_distinct(b), approx_count_distinct(nothing), approx_count_distinct(id), count(DISTINCT i) FROM numbers GROUP BY b2;
SELECT i, approx_count_distinct(t), approx_count_distinct(s), approx_count_distinct(i), approx_count_distinct(l), approx_count_distinct(f), approx_count_distinct(d), approx_count_distinct(d2), approx_count_distinct(n9), approx_count_distinct(n18), approx_count_distinct(n38), approx_count_distinct(n380), approx_count_distinct(b) FROM numbers GROUP BY i;
SELECT id, approx_count_distinct(d), approx_count_distinct(n38), approx_count_distinct(i) FROM numbers GROUP BY id;
SELECT approx_count_distinct(d), approx_count_distinct(f) FROM numbers WHERE d = 0 OR isnan(d) OR f = 0 OR isnan(f);
SELECT approx_count_distinct(s), approx_count_distinct(s2), approx_count_distinct(flag), approx_count_distinct(bin), approx_count_distinct(s || s2), approx_count_distinct(length(s)) FROM texts;
SELECT flag, approx_count_distinct(s), approx_count_distinct(s2), approx_count_distinct(flag), approx_count_distinct(bin), approx_count_distinct(s || s2), min(s) FROM texts GROUP BY flag;
SELECT approx_count_distinct(d), approx_count_distinct(d2), approx_count_distinct(ts), approx_count_distinct(ts2), approx_count_distinct(ntz) FROM times;
SELECT days, approx_count_distinct(d), approx_count_distinct(d2), approx_count_distinct(ts), approx_count_distinct(ts2), approx_count_distinct(ntz) FROM times GROUP BY days;
SELECT str, approx_count_distinct(id), approx_count_distinct(i), approx_count_distinct(dt), approx_count_distinct(ts), approx_count_distinct(bin) FROM keys GROUP BY str;
-- From linear counting to estimates with and without a bias.
SELECT approx_count_distinct(id), approx_count_distinct(CAST(id AS STRING)), approx_count_distinct(id * 0.25D), approx_count_distinct(CAST(id AS DECIMAL(38,5))) FROM range(3000);
SELECT id DIV 700 AS g, approx_count_distinct(id), approx_count_distinct(CAST(id AS STRING)), approx_count_distinct(CAST(id % 400 AS DECIMAL(20,2))), approx_count_distinct(-id) FROM range(5000) GROUP BY id DIV 700;
SELECT id % 3 AS g, approx_count_distinct(id), approx_count_distinct(id * id), approx_count_distinct(id % 1300), approx_count_distinct(CAST(id AS FLOAT)) FROM range(20000) GROUP BY id % 3;
SELECT bit_length(CAST(id AS STRING)) AS g, approx_count_distinct(id), approx_count_distinct(hash(id)) FROM range(12000) GROUP BY bit_length(CAST(id AS STRING));
SELECT approx_count_distinct(NULL), approx_count_distinct(1), approx_count_distinct('x'), approx_count_distinct(i, 0.05) FROM tame;
SELECT k, approx_count_distinct(i) FILTER (WHERE id % 2 = 0), approx_count_distinct(i) FILTER (WHERE id < 0), approx_count_distinct(DISTINCT i), count(DISTINCT z) FROM tame GROUP BY k;
SELECT approx_count_distinct(id), approx_count_distinct(k) FROM tame WHERE id < 0;
SELECT z, approx_count_distinct(id), approx_count_distinct(k) FROM tame WHERE id < 0 GROUP BY z;
SELECT approx_count_distinct(id), approx_count_distinct(s), approx_count_distinct(n), approx_count_distinct(d) FROM empty;
SELECT k, z, approx_count_distinct(id), approx_count_distinct(id) + 1 FROM tame GROUP BY ROLLUP (k, z);
-- expect: partly relativeSD=0.01
SELECT approx_count_distinct(i, 0.01) FROM tame;
