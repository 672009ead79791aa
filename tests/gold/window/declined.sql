-- Windows that stay in Spark say why.
-- tables: tame, texts, keys
-- matrix: ansi=true ; aqe=true

-- expect: partly window function collect_list is not supported
SELECT id, collect_list(i) OVER (PARTITION BY k ORDER BY id) AS a FROM tame;
-- expect: partly
SELECT id, row_number() OVER (PARTITION BY k COLLATE UTF8_LCASE ORDER BY id) AS a FROM tame;
