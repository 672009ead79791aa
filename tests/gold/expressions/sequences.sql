-- Sequences of integers with steps, and of dates.
-- tables: nests
-- matrix: ansi=true,false ; aqe=true

SELECT id, sequence(id, id + 9, 3L), sequence(id + 5, id, -2L), sequence(1, i + 9, 2), sequence(id, id, -id), sequence(id, id, id - id), sequence(id, 500, CAST(NULL AS BIGINT)) FROM nests;
SELECT id, sequence(cast(i AS TINYINT), 9Y, 4Y), sequence(cast(i AS SMALLINT), -9S, -3S), sequence(-9223372036854775807L + (id - id), 9223372036854775807L, 9223372036854775807L) FROM nests;
-- expect: error _LEGACY_ERROR_TEMP_3243
-- errors: exact
SELECT id, sequence(id, 20, id - 18) FROM nests WHERE id = 10;
-- expect: error _LEGACY_ERROR_TEMP_3243
-- errors: exact
SELECT id, sequence(i, 100, 0) FROM nests WHERE id = 9;
-- expect: error COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER
SELECT id, sequence(id - 9223372036854775807L, 9223372036854775807L, 3L) FROM nests;
SELECT id, sequence(DATE'2020-02-27' + i, DATE'2020-03-01'), sequence(DATE'1582-10-03', DATE'1582-10-16' + i), sequence(DATE'0001-01-02', DATE'0001-01-05' + i) FROM nests;
SELECT id, d FROM nests LATERAL VIEW explode(sequence(DATE'2020-12-30', DATE'2020-12-30' + i)) v AS d;
-- expect: partly sequence
SELECT id, sequence(DATE'2020-01-31', DATE'2020-05-01' + i, INTERVAL 1 MONTH) FROM nests;
