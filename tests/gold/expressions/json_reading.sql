-- JSON documents as structs, arrays and maps: all types, wrong types, documents with errors, NULL at each level.
-- tables: documents, nests, numbers, times, texts

SELECT id, from_json(j, 'a INT, b INT, c STRUCT<a: INT>, z ARRAY<STRUCT<a: INT>>') AS a FROM documents;
SELECT id, from_json(j, 'a STRING, b STRING, c STRING, z STRING') AS a FROM documents;
SELECT id, from_json(j, 'a DOUBLE, b FLOAT') AS a, from_json(j, 'a DECIMAL(10, 3), b DECIMAL(38, 10)') AS b FROM documents;
SELECT id, from_json(j, 'a BOOLEAN, b BIGINT') AS a, from_json(j, 'b TINYINT, a SMALLINT') AS b FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: STRING, c: INT>, b STRUCT<a: ARRAY<STRING>, c: DOUBLE>') AS a FROM documents;
SELECT id, from_json(j, 'a ARRAY<INT>, b STRUCT<a: ARRAY<INT>>') AS a, from_json(j, 'b MAP<STRING, STRING>, a MAP<STRING, INT>') AS b FROM documents;
SELECT id, from_json(j, 'ARRAY<STRING>') AS a, from_json(j, 'ARRAY<INT>') AS b, from_json(j, 'ARRAY<STRUCT<a: INT, b: STRING>>') AS c FROM documents;
SELECT id, from_json(j, 'ARRAY<ARRAY<INT>>') AS a, from_json(j, 'ARRAY<MAP<STRING, STRING>>') AS b FROM documents;
SELECT id, map_keys(from_json(j, 'MAP<STRING, STRING>')) AS a, map_values(from_json(j, 'MAP<STRING, STRING>')) AS b, map_values(from_json(j, 'MAP<STRING, INT>')) AS c FROM documents;
SELECT id, from_json(j, 'MAP<STRING, MAP<STRING, ARRAY<STRING>>>') AS a, from_json(j, 'MAP<STRING, STRUCT<a: STRING>>') AS b FROM documents;
SELECT id, from_json(j, 'a INT').a AS a, from_json(j, 'a STRUCT<b: INT, c: INT>').a.c AS b, from_json(j, 'a INT, b INT').b AS c FROM documents;
SELECT id, from_json(j, 'A INT, a STRING', map('mode', 'permissive')) AS a FROM documents;
SELECT id, from_json(j, '`b c` INT, `é` INT, `😀` INT, `` INT') AS a FROM (SELECT id, coalesce(get_json_object(j, '$.a'), j) AS j FROM documents);
SELECT id, from_json(s, 'a STRING') AS a, from_json(concat('{"a":"', s2, '"}'), 'a STRING') AS b, from_json(concat('{"a":', flag, '}'), 'a BOOLEAN') AS c FROM texts;
-- What to_json writes.
SELECT id, from_json(to_json(struct(*)), 'id BIGINT, k STRING, i INT, ai ARRAY<INT>, at ARRAY<STRING>, ad ARRAY<DOUBLE>, an ARRAY<DECIMAL(9, 2)>, ay ARRAY<DATE>, aa ARRAY<ARRAY<BIGINT>>, st STRUCT<x: INT, s: STRING, d: DECIMAL(9, 2), in: STRUCT<u: TIMESTAMP, v: ARRAY<INT>>>, m MAP<STRING, BIGINT>, ms MAP<STRING, STRUCT<p: BIGINT, `Q r`: STRING>>, ast ARRAY<STRUCT<p: BIGINT, `Q r`: STRING>>') AS a FROM nests;
SELECT id, from_json(to_json(struct(*)), 'id INT, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, d2 DOUBLE, n9 DECIMAL(9, 2), n18 DECIMAL(18, 4), n38 DECIMAL(38, 10), n380 DECIMAL(38, 0), b BOOLEAN, b2 BOOLEAN, nothing INT') AS a FROM numbers;
SELECT id, from_json(to_json(struct(*)), 'id STRING, t INT, s TINYINT, i SMALLINT, l INT, f DOUBLE, d FLOAT, d2 BIGINT, n9 DECIMAL(5, 1), n18 DOUBLE, n38 DECIMAL(20, 2), n380 BIGINT, b STRING, b2 INT, nothing STRING') AS a FROM numbers;
SELECT id, CAST(x.d AS string) AS a, x.d2 AS b, CAST(x.ts AS string) AS c, CAST(x.ts2 AS string) AS d, CAST(x.days AS string) AS e, x.sdays AS f, x.tdays AS g, CAST(x.huge AS string) AS h FROM (SELECT id, from_json(to_json(struct(*)), 'd DATE, d2 STRING, ts TIMESTAMP, ts2 DATE, days TIMESTAMP, sdays DATE, tdays STRING, huge TIMESTAMP') AS x FROM times);
SELECT id, from_json(to_json(struct(*)), 's STRING, s2 STRING, flag BOOLEAN, ds STRING, good BOOLEAN, bin STRING, pos DOUBLE, len TINYINT') AS a FROM texts;
SELECT id, from_json(to_json(map(s, s2)), 'MAP<STRING, STRING>') AS a FROM texts WHERE s IS NOT NULL;
-- Strings as other types.
SELECT id, from_json(concat('{"a":"', v, '","b":', v, '}'), 'a DOUBLE, b DOUBLE') AS a, from_json(concat('{"a":"', v, '","b":', v, '}'), 'a DECIMAL(8, 2), b DECIMAL(38, 20)') AS b, from_json(concat('{"b":', v, ',"a":"', v, '"}'), 'a FLOAT, b FLOAT') AS c, from_json(concat('[', v, ']'), 'ARRAY<STRING>') AS d FROM (SELECT id, explode(array('1', '-1.5', '+1', '.5', '1.', '1e3', '1E-400', '1e400', '0e100', '0.000', '-0', '-0.0', '1,000.5', ' 1', '1 ', 'NaN', '+INF', '-INF', 'INF', 'Infinity', '+Infinity', '-Infinity', '', '1d', '0x1', '16777217', '1.00000005960464477539062500000001', '123456789012345678901234567890123456789', '999999.995', '999999.994', '-0.005', '0.004', '1e6', '99999e1', '1e-40', '١')) AS v FROM numbers WHERE id < 2);
SELECT id, v, CAST(from_json(concat('{"a":"', v, '"}'), 'a DATE').a AS string) AS a, CAST(from_json(concat('{"a":"', v, '"}'), 'a TIMESTAMP').a AS string) AS b, CAST(from_json(concat('{"c":', v, '}'), 'c TIMESTAMP').c AS string) AS c, CAST(from_json(concat('["', v, '"]'), 'ARRAY<DATE>')[0] AS string) AS d FROM (SELECT id, explode(array('1', '12', '123', '1234', '12345', '+12', '-5', '2020-01-02', ' 2020-01-02 ', '2020-01-02T03:04:05.678901Z', '2020-01-02 03:04:05GMT+02:00', '2020-01-02GMT', 'GMT2020', '2020-13-01', '', ' ', '2020-01-02 03:04:05 Europe/Paris', 'x', '9223372036854', '99999999999999999999', '1e3', '1.5', '0001-01-01', '-719162')) AS v FROM numbers WHERE id < 2);
-- Fields repeated, of another case, and wrong values that do not replace earlier ones.
SELECT from_json(v, 'a INT, b STRING, c STRUCT<x: INT, y: INT>') AS a, from_json(v, 'MAP<STRING, INT>') AS b FROM (SELECT explode(array('{"a":1,"a":2}', '{"a":1,"a":"x"}', '{"a":1,"a":null}', '{"a":1,"A":2}', '{"c":{"x":1,"x":"q"},"c":{"y":2}}', '{"c":{"x":1},"c":[1]}', '{"c":{"x":1},"c":{"x":"y"}}', '{"a":[1,"x"],"b":[{"a":1}],"a":3}', '{"b":"x","b":["y",{"b":1}]}')) AS v FROM numbers WHERE id < 2);
-- Documents with errors, of which Spark keeps some fields.
SELECT v, from_json(v, 'a STRUCT<b: INT>, c INT') AS a, from_json(v, 'a ARRAY<INT>, c INT') AS b, from_json(v, 'a MAP<STRING, INT>, c INT') AS c, from_json(v, 'a STRING, c INT') AS d FROM (SELECT explode(array(
  '{"a":{"b":tru},"c":1}', '{"c":2,"a":{"b":tru}}', '{"a":[1,tru],"c":1}', '{"a":[tru,1],"c":1}', '{"a":{"b":1,},"c":1}', '{"a":{"b":1 2},"c":1}', '{"a":[1 2],"c":1}', '{"a":[1,],"c":1}', '{"a":{b:1},"c":1}',
  '{"a":{"b":01},"c":1}', '{"a":{"b":1.},"c":1}', '{"a":[01,2],"c":1}', '{"a":[1.,2],"c":1}', '{"a":[0.,2],"c":1}', '{"a":[1e,2],"c":1}', '{"a":[0e+,2],"c":1}', '{"a":[-,2],"c":1}', '{"a":[-x,2],"c":1}', '{"a":[+1,2],"c":1}',
  '{"a":["x\\y",2],"c":1}', '{"a":"x\\y","c":1}', '{"a":"x\\y,"c":1}', '{"a":"\\u12g4,"c":5}', '{"a":{"b\\q":1},"c":1}', '{"a":[1}],"c":1}', '{"a":{"b":1],"c":1}', '{"a":[[1,"x",3],[4]],"c":1}', '{"a":[1,"x",{"b":1}],"c":1}',
  '{"a":[1,"x',  '{"a":{"b":', '{"a":{"b"', '{"c":1,"a":{', '{"c":1,"a":"x', '{"c":1', '{"c":1,', '{"c":1x}', '{"a":nul,"c":1}', '{"a":nullx,"c":1}', '{"a":[nullx],"c":1}', '{"a":[NaNx,1],"c":1}', '{"a":[Infinit,1],"c":1}', '{"a":[-Infinity,-INF,+INF,NaN],"c":1}',
  "{'a':{'b':1},'c':2}", "{'a':['x\\\\y'],'c':2}", '{"a":[\'x\ty\'],"c":2}', '{"a":["x\ty"],"c":2}', '{"a":{"b\tc":1},"c":2}', '{"a":[$x,1],"c":2}', '{"a":[é,1],"c":2}', '{"a":[.5],"c":2}', '{"a":{"b":[{"x":tru}]},"c":2}', '{"z":{"b":tru},"c":2}', '{"z":[tru],"c":2}', '{"c":2,"z":"x\\y"}', '{"a":{"b":1}}}', '{"a":{"b":{"a":9}},"c":3}', '{"a":[],"c":3}', '{"a":{},"c":3}')) AS v FROM numbers WHERE id < 1);
-- Decimals of all digits that Spark has.
SELECT id, from_json(concat('{"a":"', repeat('9', 38), '","b":', repeat('9', 38), ',"c":"-', repeat('9', 38), '"}'), 'a DECIMAL(38, 0), b DECIMAL(38, 0), c DECIMAL(38, 0)') AS a, from_json(concat('{"a":"', repeat('9', 30), '.', repeat('9', 8), '","b":"', repeat('9', 39), '"}'), 'a DECIMAL(38, 8), b DECIMAL(38, 0)') AS b, from_json(concat('{"a":"', repeat('9', 30), '.', repeat('9', 8), '6"}'), 'a DECIMAL(38, 8)') AS c FROM nests WHERE id < 3;
-- Numbers with errors, after which Jackson goes on at other places; also where a number crosses the end of its buffer.
SELECT v, from_json(concat('{"a":1,"l":[1,', v, ',3],"c":2}'), 'a INT, l ARRAY<INT>, c INT') AS a, from_json(concat('{"a":1,"l":[1,', v, ',,3],"c":2}'), 'a STRING, l STRING, c INT') AS b, from_json(concat('{"s":{"x":', v, '},"c":2}'), 's STRUCT<x: DOUBLE>, c INT') AS c FROM (SELECT explode(array(
  '1e+', '1e-', '77e', '1.5e', '1.5e+', '-1e+', '-1.', '-1.5e', '0e', '0e+', '-0e', '0.', '-0.', '1e+x', '1e++', '1E+ ', '1.5.2', '1.e', '12a')) AS v FROM range(1));
SELECT n, v, from_json(concat('{"p":"', repeat(p, n), '","l":[1,', v, ',3],"c":2}'), 'l ARRAY<INT>, c INT') AS a FROM (SELECT explode(array(1989, 1990, 1991, 1992, 1993, 1994, 3981, 3982, 3983, 3984, 3985, 3986, 3987, 3988)) AS n FROM range(1)),
  (SELECT explode(array('1e+', '123456e', '1.5e', '2.', '0e', 'tru', 'nullx')) AS v FROM range(1)), (SELECT explode(array('x', 'é', '😀')) AS p FROM range(1));
SELECT from_json(NULL, 'a INT') AS a, from_json(j, 'a INT') IS NULL AS b, from_json(j, 'a INT').a IS NULL AS c FROM documents WHERE id < 9;
SELECT count(*) AS a FROM documents WHERE from_json(j, 'a INT').a = 1;
SELECT from_json(j, 'a INT, b ARRAY<INT>') AS a FROM documents WHERE id < 0;
-- set: spark.sql.session.timeZone=America/Los_Angeles
SELECT id, CAST(x.ts AS string) AS a, CAST(x.ts2 AS string) AS b, CAST(x.d AS string) AS c, CAST(x.d2 AS string) AS d FROM (SELECT id, from_json(to_json(struct(*)), 'ts TIMESTAMP, ts2 TIMESTAMP, d TIMESTAMP, d2 TIMESTAMP') AS x FROM times);
SELECT id, from_json(j, 'a STRUCT<void: INT, interval_ms: INT>, binary STRING, b MAP<STRING, STRING>') AS a FROM documents;
-- Options: what readers accept, and the field of documents with an error.
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING') AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING') AS b, from_json(j, 'ARRAY<INT>') AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING') AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING') AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING') AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('allowSingleQuotes', 'false')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('allowSingleQuotes', 'false')) AS b, from_json(j, 'ARRAY<INT>', map('allowSingleQuotes', 'false')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('allowSingleQuotes', 'false')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('allowSingleQuotes', 'false')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('allowSingleQuotes', 'false')) AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('allowUnquotedFieldNames', 'true')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('allowUnquotedFieldNames', 'true')) AS b, from_json(j, 'ARRAY<INT>', map('allowUnquotedFieldNames', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('allowUnquotedFieldNames', 'true')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('allowUnquotedFieldNames', 'true')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('allowUnquotedFieldNames', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('allowNumericLeadingZeros', 'TRUE')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('allowNumericLeadingZeros', 'TRUE')) AS b, from_json(j, 'ARRAY<INT>', map('allowNumericLeadingZeros', 'TRUE')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('allowNumericLeadingZeros', 'TRUE')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('allowNumericLeadingZeros', 'TRUE')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('allowNumericLeadingZeros', 'TRUE')) AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('allowComments', 'true')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('allowComments', 'true')) AS b, from_json(j, 'ARRAY<INT>', map('allowComments', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('allowComments', 'true')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('allowComments', 'true')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('allowComments', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('allowNonNumericNumbers', 'false')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('allowNonNumericNumbers', 'false')) AS b, from_json(j, 'ARRAY<INT>', map('allowNonNumericNumbers', 'false')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('allowNonNumericNumbers', 'false')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('allowNonNumericNumbers', 'false')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('allowNonNumericNumbers', 'false')) AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('allowBackslashEscapingAnyCharacter', 'true')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('allowBackslashEscapingAnyCharacter', 'true')) AS b, from_json(j, 'ARRAY<INT>', map('allowBackslashEscapingAnyCharacter', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('allowBackslashEscapingAnyCharacter', 'true')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('allowBackslashEscapingAnyCharacter', 'true')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('allowBackslashEscapingAnyCharacter', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('allowUnquotedControlChars', 'true')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('allowUnquotedControlChars', 'true')) AS b, from_json(j, 'ARRAY<INT>', map('allowUnquotedControlChars', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('allowUnquotedControlChars', 'true')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('allowUnquotedControlChars', 'true')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('allowUnquotedControlChars', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a INT, b STRUCT<a: ARRAY<INT>>, _corrupt_record STRING', map('ALLOWUNQUOTEDFIELDNAMES', 'true', 'allowSingleQuotes', 'false', 'allowNumericLeadingZeros', 'true', 'allowComments', 'true', 'allowBackslashEscapingAnyCharacter', 'true', 'allowUnquotedControlChars', 'true', 'primitivesAsString', 'true')) AS a, from_json(j, 'a STRING, _corrupt_record STRING, b STRING', map('ALLOWUNQUOTEDFIELDNAMES', 'true', 'allowSingleQuotes', 'false', 'allowNumericLeadingZeros', 'true', 'allowComments', 'true', 'allowBackslashEscapingAnyCharacter', 'true', 'allowUnquotedControlChars', 'true', 'primitivesAsString', 'true')) AS b, from_json(j, 'ARRAY<INT>', map('ALLOWUNQUOTEDFIELDNAMES', 'true', 'allowSingleQuotes', 'false', 'allowNumericLeadingZeros', 'true', 'allowComments', 'true', 'allowBackslashEscapingAnyCharacter', 'true', 'allowUnquotedControlChars', 'true', 'primitivesAsString', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, c: DOUBLE>, _corrupt_record STRING', map('ALLOWUNQUOTEDFIELDNAMES', 'true', 'allowSingleQuotes', 'false', 'allowNumericLeadingZeros', 'true', 'allowComments', 'true', 'allowBackslashEscapingAnyCharacter', 'true', 'allowUnquotedControlChars', 'true', 'primitivesAsString', 'true')) AS a, from_json(j, 'a DOUBLE, b DECIMAL(10, 3), _corrupt_record STRING', map('ALLOWUNQUOTEDFIELDNAMES', 'true', 'allowSingleQuotes', 'false', 'allowNumericLeadingZeros', 'true', 'allowComments', 'true', 'allowBackslashEscapingAnyCharacter', 'true', 'allowUnquotedControlChars', 'true', 'primitivesAsString', 'true')) AS b, from_json(j, 'a MAP<STRING, INT>, b ARRAY<STRUCT<a: DOUBLE>>, _corrupt_record STRING', map('ALLOWUNQUOTEDFIELDNAMES', 'true', 'allowSingleQuotes', 'false', 'allowNumericLeadingZeros', 'true', 'allowComments', 'true', 'allowBackslashEscapingAnyCharacter', 'true', 'allowUnquotedControlChars', 'true', 'primitivesAsString', 'true')) AS c FROM documents;
SELECT id, from_json(j, 'a TIMESTAMP_NTZ, b BOOLEAN, _corrupt_record STRING') AS a, from_json(j, 'a TIMESTAMP, b DATE, _corrupt_record STRING') AS b, from_json(j, '_corrupt_record STRING') AS c FROM documents;
SELECT id, from_json(j, 'a INT, _corrupt_record STRING, b STRING, `bad one` STRING', map('columnNameOfCorruptRecord', 'bad one')) AS a, from_json(j, 'a INT, _corrupt_record STRING')._corrupt_record AS b, from_json(j, 'ARRAY<STRUCT<a: INT, _corrupt_record: STRING>>') AS c FROM documents;
SELECT id, from_json(j, 'a STRUCT<b: INT, _corrupt_record: STRING>, c INT, _corrupt_record STRING') AS a FROM documents;
-- expect: error INVALID_CORRUPT_RECORD_TYPE
SELECT id, from_json(j, 'a INT, _corrupt_record INT') AS a FROM documents;
SELECT id, from_json(j, 'a INT, _corrupt_record INT') AS a FROM documents WHERE id < 0;
-- Local timestamps have no time zone.
SELECT v, CAST(from_json(concat('{"a":"', v, '"}'), 'a TIMESTAMP_NTZ, _corrupt_record STRING') AS string) AS a FROM (SELECT explode(array('2020-01-02', ' 2020-01-02 ', '2020-01-02 03:04:05', '2020-01-02T03:04:05.678901', '2020-01-02T03:04:05.6789019', '2020-01-02T3:4:5.', '2020-01-02 03:04', '2020-01-02T', '2020-01-02 ', '2020-01', '2020', '2020-01-02T03:04:05Z', '2020-01-02 03:04:05+01:00', '2020-01-02 03:04:05-8', '2020-01-02 03:04:05 Europe/Paris', '2020-01-02 03:04:05UTC', '03:04:05', 'T03:04', '', ' ', '+12020-01-02', '-0001-01-02 00:00:00', '294248-01-01', '2020-13-01', '2020-02-30', '2020-01-02 24:00:00', '20200102', '5')) AS v FROM range(1));
SELECT id, CAST(from_json(to_json(struct(*)), 'd TIMESTAMP_NTZ, d2 TIMESTAMP_NTZ, ts TIMESTAMP_NTZ') AS string) AS x FROM times;
-- Patterns of dates and timestamps.
SELECT v, CAST(from_json(concat('{"a":"', v, '","b":"', v, '","c":["', v, '"]}'), 'a DATE, b TIMESTAMP, c ARRAY<TIMESTAMP>, _corrupt_record STRING', map('dateFormat', 'dd/MM/yyyy', 'timestampFormat', 'dd/MM/yyyy HH:mm:ss')) AS string) AS a, CAST(from_json(concat('{"a":"', v, '","b":"', v, '"}'), 'a DATE, b TIMESTAMP', map('DATEFORMAT', 'yyyy-MM-dd', 'TimestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")) AS string) AS b FROM (SELECT explode(array('26/08/2015', '26/08/2015 ', '26/08/2015 01:02:03', '1/2/2020', '31/02/2020', '29/02/2020', '2020-01-02', '2020-01-02T03:04:05.678Z', '2020-01-02T03:04:05.678+01:00', '2020-01-02T03:04:05.67Z', '12020-01-02', '', '26/08/0001', '26/08/0000', '26/08/1500 00:00:00', 'x', '18000')) AS v FROM range(1));
SELECT id, CAST(from_json(j, 'a DATE, b TIMESTAMP, _corrupt_record STRING', map('dateFormat', 'yyyy/MM/dd', 'timestampFormat', 'yyyy/MM/dd')) AS string) AS a FROM documents;
-- set: spark.sql.session.timeZone=America/Los_Angeles
SELECT id, CAST(from_json(to_json(struct(*), map('timestampFormat', 'dd.MM.yyyy HH:mm:ss.SSSSSS', 'dateFormat', 'MM/dd/yyyy')), 'ts TIMESTAMP, d DATE, d2 DATE, ts2 TIMESTAMP', map('timestampFormat', 'dd.MM.yyyy HH:mm:ss.SSSSSS', 'dateFormat', 'MM/dd/yyyy')) AS string) AS a FROM (SELECT id, d, d2, ts, ts2 FROM times WHERE ts > TIMESTAMP'1000-01-01 00:00:00' AND d > DATE'1000-01-01');
-- The mode FAILFAST.
SELECT id, from_json(to_json(struct(*)), 'id BIGINT, k STRING, i INT, ai ARRAY<INT>, m MAP<STRING, BIGINT>', map('mode', 'failFast')) AS a FROM nests;
SELECT from_json(v, 'a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":1}', NULL, '', '{}', ' ', '{"a":null}', '{"b":["x"]} ]')) AS v FROM range(1));
SELECT id, from_json(j, 'a INT', map('mode', 'FAILFAST')) AS a FROM documents WHERE id < 0;
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":"x"}')) AS v FROM range(1));
-- errors: exact
-- expect: error MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_STRING_AS_DATATYPE
SELECT from_json(v, 'a DOUBLE', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":"x"}')) AS v FROM range(1));
-- errors: exact
-- expect: error MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_STRING_AS_DATATYPE
SELECT from_json(v, 'a FLOAT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":"x y\\""}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a DOUBLE', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":""}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a INT, b STRUCT<c: INT>', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":1,"b":{"c":"x"}}')) AS v FROM range(1));
-- errors: exact
-- expect: error MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_STRING_AS_DATATYPE
SELECT from_json(v, 'a INT, b STRUCT<c: DOUBLE>', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":1,"b":{"c":"x"}}')) AS v FROM range(1));
-- errors: exact
-- expect: error MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_JSON_ARRAYS_AS_STRUCTS
SELECT from_json(v, 'a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('[{"a":1}]')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('x')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":1')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('null')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('5')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'MAP<STRING, INT>', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":1, "b":"x"}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'ARRAY<INT>', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('[1,"x"]')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'b STRUCT<c: INT, d: DATE>, e BOOLEAN, f DECIMAL(3, 1)', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"b":{"c":1,"d":"2020-01-01"}, "e":2}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'f DECIMAL(3, 1), g STRING, x DECIMAL(10, 5), y DOUBLE, z FLOAT, t BOOLEAN', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"g":"é😀","f":12345, "x":1.50, "y":1e10, "z":1.1, "t":true}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'f INT, g ARRAY<INT>, h MAP<STRING, INT>, t TIMESTAMP, d DOUBLE', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"g":[1,null],"h":{"x":1,"y":null},"t":"2020-01-01","f":"q","d":1.5}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'ARRAY<STRUCT<a: INT, b: INT>>', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('[{"a":1,"b":"x"}]')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a ARRAY<INT>, b INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":[1,"x",3],"b":1}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'm MAP<STRING, DOUBLE>, b INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"m":{"x":"q"},"b":1}')) AS v FROM range(1));
-- errors: exact
-- expect: error MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_STRING_AS_DATATYPE
SELECT from_json(v, 'm MAP<STRING, STRUCT<y: DOUBLE>>, b INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"m":{"x":{"y":"q"}},"b":1}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'a ARRAY<STRUCT<x: DOUBLE>>, b DOUBLE', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":[{"x":"q"},5],"b":"z"}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, '_corrupt_record STRING, a INT, b INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"a":1,"b":"x"}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'n DECIMAL(38, 30), a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"n":1e-40,"a":"x"}')) AS v FROM range(1));
-- expect: error MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION
SELECT from_json(v, 'n DECIMAL(38, 20), a INT', map('mode', 'FAILFAST')) AS a FROM (SELECT explode(array('{"n":1e-10,"a":"x"}')) AS v FROM range(1));
-- Names that the error would write in other ways, other modes, options of formats, and other types.
-- expect: partly
SELECT id, from_json(j, '`a.b` INT', map('mode', 'FAILFAST')) AS a FROM documents WHERE id < 0;
-- expect: partly
SELECT id, from_json(j, 'a ARRAY<DOUBLE>', map('mode', 'FAILFAST')) AS a FROM documents WHERE id < 0;
-- expect: partly
SELECT id, from_json(j, 'a INT', map('mode', 'PERMISSIVE', 'MODE', 'FAILFAST')) AS a FROM documents WHERE id < 0;
-- expect: partly
SELECT id, from_json(j, 'a DATE', map('dateFormat', 'd MMM yyyy')) AS a FROM documents;
-- expect: partly
-- set: spark.sql.legacy.json.enableDateTimeParsingFallback=true
SELECT id, from_json(j, 'a DATE', map('dateFormat', 'dd/MM/yyyy')) AS a FROM documents;
-- expect: partly
SELECT id, from_json(j, 'ARRAY<INT>', map('columnNameOfCorruptRecord', 'value')) AS a FROM documents WHERE id < 0;
-- expect: partly
SELECT id, from_json(j, 'a BINARY') AS a FROM documents;
-- expect: partly
-- set: spark.sql.json.enablePartialResults=false
SELECT id, from_json(j, 'a STRUCT<b: INT>') AS a FROM documents;
-- expect: partly
-- set: spark.sql.legacy.json.enableDateTimeParsingFallback=false
SELECT id, from_json(j, 'a DATE') AS a FROM documents;
