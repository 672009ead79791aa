-- Structs as records of CSV, and records as structs: all flat types, options, marks and white space in texts.
-- tables: numbers, times, texts, nests

SELECT id, to_csv(struct(*)) AS a FROM numbers;
SELECT id, to_csv(struct(*)) AS a FROM times;
SELECT id, to_csv(struct(*)) AS a FROM texts;
SELECT id, to_csv(named_struct('s', s, 'b', s2, 'c', ds, 'd', s)) AS a, to_csv(struct(id, s)) AS b, to_csv(if(s IS NULL, NULL, struct(s2, s))) AS c FROM texts;
SELECT id, to_csv(struct(f, d, f + 1, -d)) AS a, to_csv(struct(n38, n18, n9, b, NULL)) AS b FROM numbers;
SELECT id, to_csv(struct(CAST(n9 / 1000000000 AS decimal(38, 30)) AS a, CAST(0 AS decimal(7, 7)) AS b)) AS a FROM numbers;
SELECT id, to_csv(struct(CAST(t AS time) AS a, 1 AS b)) AS a FROM (SELECT id, CAST(ntz AS string) AS t FROM times WHERE id < 0);
-- Marks, white space and empty texts.
SELECT a, to_csv(struct(a, b)) AS a, to_csv(struct(b, a)) AS b, to_csv(struct(concat(a, b), concat(b, a), concat(b, ',', a))) AS c FROM (SELECT a, b FROM (SELECT explode(array('#x', ' #x', 'x#', '', NULL, '  ', ' a ', 'a"b', '"', '""', ' "a"', 'a,', ', ', '\n', 'a\r ', 'a\\b', '\\', '\\"', '\\,"', 'é😀, ', 'a\0b', '\0', '\u00a0', 'a\u00a0')) AS a FROM range(1)), (SELECT explode(array('x', ' ', NULL, ',', '"\\')) AS b FROM range(1)));
SELECT a, to_csv(named_struct('a', a, 'b', a), map('quoteAll', 'true')) AS a, to_csv(named_struct('a', a, 'b', a), map('escapeQuotes', 'false')) AS b, to_csv(named_struct('a', a, 'b', a), map('QUOTEALL', 'True', 'nullValue', '-')) AS c, to_csv(named_struct('a', a, 'b', a), map('ignoreLeadingWhiteSpace', 'false', 'ignoreTrailingWhiteSpace', 'false')) AS d, to_csv(named_struct('a', a, 'b', a), map('sep', '\t')) AS e, to_csv(named_struct('a', a, 'b', a), map('delimiter', '|', 'quote', "'")) AS f, to_csv(named_struct('a', a, 'b', a), map('quote', '')) AS g, to_csv(named_struct('a', a, 'b', a), map('escape', '"')) AS h, to_csv(named_struct('a', a, 'b', a), map('escape', '')) AS i, to_csv(named_struct('a', a, 'b', a), map('escape', '!', 'charToEscapeQuoteEscaping', '?')) AS j, to_csv(named_struct('a', a, 'b', a), map('charToEscapeQuoteEscaping', '')) AS k, to_csv(named_struct('a', a, 'b', a), map('comment', 'x')) AS l, to_csv(named_struct('a', a, 'b', a), map('nullValue', ' "NULL, ', 'emptyValue', "'")) AS m, to_csv(named_struct('a', a, 'b', a), map('nullValue', '"', 'emptyValue', '"",""')) AS n, to_csv(named_struct('a', a, 'b', a), map('emptyValue', '')) AS o, to_csv(named_struct('a', a, 'b', a), map('quoteAll', 'true', 'emptyValue', '', 'nullValue', 'é"')) AS p, to_csv(named_struct('a', a, 'b', a), map('sep', '"')) AS q, to_csv(named_struct('a', a, 'b', a), map('sep', ' ', 'header', 'true')) AS r FROM (SELECT a FROM (SELECT explode(array('#x', 'x#', '', NULL, '  ', ' a ', 'a"b', '"', '""', ' "a"', 'a,', ', ', '\n', 'a\\b', '\\"', '\\,"!?', "it's |", 'a\tb\t', 'é😀, ', 'a\0b', '\0,', 'a b!"')) AS a FROM range(1)));
SELECT id, to_csv(struct(*), map('timestampFormat', 'dd/MM/yyyy HH:mm:ss.SSSSSS XXX', 'dateFormat', 'd.M.yy, EEE', 'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm")) AS a FROM times;
SELECT id, to_csv(struct(*), map('sep', '-')) AS a FROM times;
-- A record of one field has some character.
SELECT id, to_csv(struct(s), map('nullValue', 'x')) AS a, to_csv(struct(s2), map('nullValue', '""', 'emptyValue', '-')) AS b FROM texts;
SELECT to_csv(struct(s, s2)) AS a, count(*) AS b FROM texts GROUP BY 1;
SELECT to_csv(struct(1 AS a, id AS b)) AS a FROM range(1);
SELECT to_csv(struct(*)) AS a FROM texts WHERE id < 0;
-- set: spark.sql.session.timeZone=America/Los_Angeles
SELECT id, to_csv(struct(*)) AS a FROM times;
-- set: spark.sql.session.timeZone=Africa/Monrovia
SELECT id, to_csv(struct(*)) AS a FROM times;
-- expect: partly
SELECT id, to_csv(struct(s)) AS a FROM texts WHERE s <> '';
-- expect: partly
SELECT id, to_csv(struct(s, s2), map('sep', ',,')) AS a FROM texts;
-- expect: partly
SELECT id, to_csv(struct(s, s2), map('ignoreTrailingWhiteSpace', 'false')) AS a FROM texts;
-- expect: partly
SELECT id, to_csv(struct(id, ai)) AS a FROM nests;
-- expect: partly
SELECT id, to_csv(struct(id, ts - ts2 AS a)) AS a FROM times;
