-- Windows that stay in Spark say why.
-- tables: tame, texts, keys
-- matrix: ansi=true ; aqe=true

-- expect: partly window frame ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING is not supported
SELECT id, sum(i) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS a FROM tame;
-- expect: partly a sliding window frame of more than 100000 rows is not supported
SELECT id, sum(i) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 200000 PRECEDING AND CURRENT ROW) AS a FROM tame;
-- expect: partly window frame ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING is not supported
SELECT id, sum(i) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a FROM tame;
-- expect: partly window frame RANGE BETWEEN .* is not supported
SELECT id, count(*) OVER (PARTITION BY k ORDER BY id RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS a FROM tame;
-- expect: partly window function nth_value is not supported
SELECT id, nth_value(i, 2) OVER (PARTITION BY k ORDER BY id) AS a FROM tame;
-- expect: partly ignoreNulls=true is not supported
SELECT id, lag(i) IGNORE NULLS OVER (PARTITION BY k ORDER BY id) AS a FROM tame;
-- expect: partly with the default .* is not supported
SELECT id, lag(i, 1, id) OVER (PARTITION BY k ORDER BY id) AS a FROM tame;
-- expect: partly window function collect_list is not supported
SELECT id, collect_list(i) OVER (PARTITION BY k ORDER BY id) AS a FROM tame;
-- expect: partly
SELECT id, row_number() OVER (PARTITION BY k COLLATE UTF8_LCASE ORDER BY id) AS a FROM tame;
