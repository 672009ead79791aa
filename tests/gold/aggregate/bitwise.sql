-- bit_and, bit_or and bit_xor of every integer type.
-- tables: numbers, tame, keys, empty
-- matrix: ansi=true,false ; batch=7

SELECT bit_and(t), bit_or(t), bit_xor(t), bit_and(s), bit_or(s), bit_xor(s) FROM numbers;
SELECT bit_and(i), bit_or(i), bit_xor(i), bit_and(l), bit_or(l), bit_xor(l) FROM numbers;
SELECT bit_and(nothing), bit_or(nothing), bit_xor(nothing) FROM numbers;
SELECT bit_and(CAST(NULL AS TINYINT)), bit_or(NULL), bit_xor(CAST(NULL AS BIGINT)), bit_and(-1), bit_xor(7) FROM tame;
SELECT b2, bit_and(t), bit_or(t), bit_xor(t), bit_and(l), bit_or(l), bit_xor(l) FROM numbers GROUP BY b2;
SELECT i, bit_and(s), bit_or(s), bit_xor(s), bit_and(nothing), count(*) FROM numbers GROUP BY i;
SELECT k, bit_and(i), bit_or(i), bit_xor(i), sum(i), max(i), bit_xor(i) + bit_or(l) FROM tame GROUP BY k;
SELECT id, bit_and(l), bit_or(l), bit_xor(l) FROM numbers GROUP BY id;
SELECT str, bit_and(t), bit_or(s), bit_xor(l) FROM keys GROUP BY str;
SELECT k, bit_and(i) FILTER (WHERE id % 2 = 0), bit_or(i) FILTER (WHERE id < 0), bit_xor(i) FILTER (WHERE b) FROM tame GROUP BY k;
SELECT bit_xor(DISTINCT i), bit_or(DISTINCT i), bit_xor(i) FROM tame;
SELECT k, bit_xor(DISTINCT i), bit_and(DISTINCT i), bit_xor(i), count(DISTINCT z) FROM tame GROUP BY k;
SELECT bit_and(i), bit_or(i), bit_xor(i) FROM tame WHERE id < 0;
SELECT z, bit_and(i), bit_or(i), bit_xor(i) FROM tame WHERE id < 0 GROUP BY z;
SELECT bit_and(id), bit_or(id), bit_xor(id) FROM empty;
SELECT k, z, bit_xor(l) FROM tame GROUP BY ROLLUP (k, z);
SELECT k, bit_or(i) FROM tame GROUP BY k HAVING bit_and(l) = 0 OR bit_xor(i) > 3;
