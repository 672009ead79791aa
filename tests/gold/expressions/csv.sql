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
-- Records as structs: marks within fields, white space, line ends, too few and too many fields.
SELECT a, from_csv(a, 'x int, y string') AS b, from_csv(a, 'x string, y string, z string, _corrupt_record string') AS c, from_csv(a, '_corrupt_record string, y int') AS d, from_csv(a, 'x string, e string, y string', map('columnNameOfCorruptRecord', 'e')) AS e, from_csv(a, 'a string') AS f, from_csv(a, '_corrupt_record string') AS g, from_csv(a, 'y string, a string').a AS h, from_csv(a, 'a int, y string').a AS i FROM (SELECT explode(array('', '1', '1,a,b', ' ', '\t', '1,', ',', ',,', 'z,1', NULL, '#1,a', '  ,', '\n', '\r\n', '1,a\n', '1\n,b\nc', '1,a\r\n', 'z\n', 'z\r', 'z\n\n', 'z\n\r', '1,"a\nb"', '1,"a\n', '\0', '1,\0', '1,a\0b', '1,"a\0', 'z,"', '1,"a', '"1,a', '"', '""', '"" ', ' "" ', '1, "a" ', '"1","a"', '"1" , "a" ', '1,"a""b"', '1,"a\\"b"', '1,"a\\\\"', '1,"a\\', '1,a"b"', '1,"a"b', '1,"a"b"', '1,"a" b, c', '1,"a\\n"', 'é,😀', '"é","😀,é"', '1,"é"é', '1,\u00a0a', '2147483648,a', '-5,', '+5,""', '٣,a')) AS a FROM range(1));
SELECT a, from_csv(a, 'x string, y string, _corrupt_record string', map('sep', '|', 'quote', "'")) AS b, from_csv(a, 'x string, y string', map('delimiter', '\t', 'escape', '"')) AS c, from_csv(a, 'x string, y string', map('quote', '')) AS d, from_csv(a, 'x string, y string', map('escape', '')) AS e, from_csv(a, 'x string, y string, _corrupt_record string', map('comment', '1')) AS f, from_csv(a, 'x string, y string', map('nullValue', 'a', 'emptyValue', 'E')) AS g, from_csv(a, 'x string, y string', map('ignoreLeadingWhiteSpace', 'true')) AS h, from_csv(a, 'x string, y string, _corrupt_record string', map('ignoreLeadingWhiteSpace', 'true', 'IGNORETRAILINGWHITESPACE', 'True')) AS i, from_csv(a, 'x int, y string', map('emptyValue', '1', 'ignoreLeadingWhiteSpace', 'false')) AS j, from_csv(a, 'x string, y string', map('sep', ' ')) AS k, from_csv(a, 'x string, y string', map('mode', 'permissive', 'header', 'true', 'nullValue', 'é')) AS l FROM (SELECT explode(array('', '1', ' ', '\t', '  1 , a ', ' , ', '1, ', '1,\n', '1,"a"  ', ' "1"  ,"a" b ', '"",""', ' "" , "" ', 'a|b', "'a|b'|c", "1|'a''b'", "1|'a", 'a\tb', '"a\tb"\t"c""d"', '1,"a""b"', '1,"a\\"b"', '1,"a\\', 'é,a', '1 a', '"1 2" 3', '1,a,b', NULL)) AS a FROM range(1));
SELECT s, from_csv(s, 'a string, b string, _corrupt_record string') AS a, from_csv(concat(s, ',', s2), 'a string, b string, _corrupt_record string') AS b, from_csv(s2, 'a string, b int').b AS c FROM texts;
-- Values of all types, and texts that are none.
SELECT a, from_csv(a, 'a tinyint') AS a1, from_csv(a, 'a smallint') AS a2, from_csv(a, 'a int') AS a3, from_csv(a, 'a bigint') AS a4, from_csv(a, 'a float') AS a5, from_csv(a, 'a double') AS a6, from_csv(a, 'a decimal(10, 2)') AS a7, from_csv(a, 'a decimal(38, 0)') AS a8, from_csv(a, 'a boolean') AS a9, CAST(from_csv(a, 'a date') AS string) AS a10, CAST(from_csv(a, 'a timestamp, _corrupt_record string') AS string) AS a11, CAST(from_csv(a, 'a timestamp_ntz, _corrupt_record string') AS string) AS a12, from_csv(a, 'a double', map('nanValue', '-', 'positiveInf', 'x', 'negativeInf', '1')) AS a13 FROM (SELECT explode(array('1', '-1', '127', '128', '1.5', '-1.', '.5', '1e3', '1,000', '"1,000.55"', 'NaN', 'Inf', '-Inf', 'Infinity', 'inf', 'x', '-', 'true', 'TRUE', 'False', 't', '1d', '0x1p3', '2020-02-29', '2020-02-30', '2020-2-3', '2020', '2020-01-01 10:00:00', '2020-01-01T10:00:00.123456789Z', '2020-01-01 10:00:00 America/New_York', 'GMT2020-01-01', '10:00', ' 1', '1 ', '9999999999999999999', '99999999999999999999999999999999999999', '1E-45', '1E400', 'now', '0001-01-01', '10000-01-01', 'é')) AS a FROM range(1));
-- set: spark.sql.session.timeZone=America/Los_Angeles
SELECT id, a.ts = ts AS b, a.d = d AS c, a.ntz = ntz AS d, a.e AS e, CAST(a AS string) AS f FROM (SELECT *, from_csv(to_csv(struct(ts, d, ntz)), 'ts timestamp, d date, ntz timestamp_ntz, e string', map('columnNameOfCorruptRecord', 'e')) AS a FROM times);
SELECT id, from_csv(to_csv(struct(i, l, d, f, n18, b)), 'i int, l bigint, d double, f float, n18 decimal(18, 4), b boolean') AS a FROM numbers;
SELECT count(*) AS a, sum(from_csv(to_csv(struct(i, l)), 'i int, l bigint').i) AS b FROM numbers WHERE from_csv(to_csv(struct(i, l)), 'i int, l bigint').l > 0;
SELECT from_csv(s, 'a string, b string') AS a, count(*) AS b FROM texts GROUP BY 1;
SELECT from_csv(s, 'a string, b string') AS a FROM texts WHERE id < 0;
SELECT from_csv(concat(a, chr(12)), 'x int, _corrupt_record string') AS a, from_csv(concat(a, chr(12), '\n'), 'x int, _corrupt_record string') AS b, from_csv(concat(a, '#'), 'x int, _corrupt_record string', map('comment', '#')) AS c, from_csv(concat(a, '# '), 'x int, _corrupt_record string', map('comment', '#')) AS d FROM (SELECT explode(array('', 'z', '1')) AS a FROM range(1));
SELECT a, CAST(from_csv(a, 'd date, t timestamp, _corrupt_record string', map('dateFormat', 'dd/MM/yyyy', 'timestampFormat', 'dd/MM/yyyy HH:mm:ss')) AS string) AS b, CAST(from_csv(a, 't timestamp, d date', map('timestampFormat', 'dd/MM/yyyy')) AS string) AS c, CAST(from_csv(a, 'd date, t timestamp, n timestamp_ntz', map('DATEFORMAT', 'yyyy-MM-dd', 'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")) AS string) AS d FROM (SELECT explode(array('', '26/08/2015', '26/08/2015,26/08/2015 01:02:03', '31/02/2015,31/02/2015 01:02:03', '2020-02-29,2020-02-29T01:02:03.004Z,2020-02-29T01:02:03', '2020-02-29,2020-02-29T01:02:03.004+01:00', '2020-02-29 ,2020-02-29', '1/1/2015,1/1/2015 1:2:3', '01/01/20150,', 'x,y', '29/02/1500,29/02/1500 00:00:00', NULL)) AS a FROM range(1));
-- set: spark.sql.session.timeZone=America/Los_Angeles
SELECT id, CAST(from_csv(to_csv(struct(*), map('timestampFormat', 'dd.MM.yyyy HH:mm:ss.SSSSSS', 'dateFormat', 'MM/dd/yyyy')), 'id int, ts timestamp, d date', map('timestampFormat', 'dd.MM.yyyy HH:mm:ss.SSSSSS', 'dateFormat', 'MM/dd/yyyy')) AS string) AS a FROM (SELECT id, ts, d FROM times WHERE ts > TIMESTAMP'1000-01-01 00:00:00' AND d > DATE'1000-01-01');
-- A record with an error.
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_csv(concat(id, ',a,2020-01-01,1.5,true,b'), 'i int, s string, d date, f double, b boolean', map('mode', 'FAILFAST')) AS a FROM range(2);
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_csv(concat('é', id), '_corrupt_record string, i int, s string, t timestamp, n decimal(20, 10)', map('mode', 'failfast')) AS a FROM range(1);
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_csv(if(id = 1, '', 'a,1970-01-02,1970-01-02 00:00:00,0.0000001'), 's string, d date, t timestamp, n decimal(20, 10), _corrupt_record string', map('mode', 'FAILFAST')) AS a FROM range(2);
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_csv(concat('1970-01-03,1970-01-02 00:00:00,0.0000001,1.0E10,x', id), 'd date, t timestamp, n decimal(20, 10), f float, g float', map('mode', 'FAILFAST')) AS a FROM range(1);
SELECT from_csv(concat(id, ',a'), 'i int, s string', map('mode', 'FAILFAST')) AS a, if(id < 0, from_csv(concat('a', id), 'i int', map('mode', 'FAILFAST')), NULL) AS b FROM range(3);
-- expect: error MALFORMED_CSV_RECORD
SELECT from_csv(repeat(',', CAST(30000 + id AS int)), 'x int, y string') AS a FROM range(1);
-- expect: error MALFORMED_CSV_RECORD
SELECT from_csv(repeat(',', CAST(30000 + id AS int)), 'x int, y string').x AS a FROM range(1);
-- expect: error INVALID_CORRUPT_RECORD_TYPE
SELECT from_csv(s, 'i int, s string', map('columnNameOfCorruptRecord', 'i')) AS a FROM texts;
-- Types, options and fields that are not supported.
-- expect: partly
SELECT from_csv(s, 'a int, b binary') AS a FROM texts;
-- expect: partly
SELECT from_csv(s, 'a int, a string') AS a FROM texts;
-- expect: partly
SELECT from_csv(s, 'a int, `b c` string') AS a FROM texts;
-- expect: partly
SELECT from_csv(s, 'd date', map('dateFormat', 'd MMM yyyy')) AS a FROM texts;
-- expect: partly
SELECT from_csv(s, 'd timestamp_ntz', map('timestampNTZFormat', 'dd/MM/yyyy')) AS a FROM texts;
-- expect: partly
SELECT from_csv(s, 'd string', map('sep', '||')) AS a FROM texts;
-- expect: partly
SELECT from_csv(s, 'd string', map('sep', "'", 'quote', "'")) AS a FROM texts;
-- expect: partly
SELECT from_csv(s, 'd string', map('ignoreTrailingWhiteSpace', 'true')) AS a FROM texts;
-- expect: partly
SELECT schema_of_csv('1,a') AS a, from_csv(s, 'd string', map('quote', ',')) AS b FROM texts;
