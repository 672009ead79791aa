-- Encodings of texts: URLs and their parts, character sets, bytes that are not UTF-8, masks, digits of bytes.
-- tables: texts
-- matrix: ansi=true,false

SELECT id, url_decode(url_encode(concat(s, ' ~*-._+%&/ä😀'))) AS a, try_url_decode(s) AS b, try_url_decode(concat('%', s)) AS c FROM texts;
SELECT id, try_url_decode(x) AS a FROM (SELECT id, CASE id % 14 WHEN 0 THEN 'a+b%20c' WHEN 1 THEN '%C3%A9%F0%9F%98%80' WHEN 2 THEN '%C3' WHEN 3 THEN '%ED%A0%80x' WHEN 4 THEN '%+5' WHEN 5 THEN '%-0' WHEN 6 THEN '%-1' WHEN 7 THEN '%１２' WHEN 8 THEN '%ＡF' WHEN 9 THEN '%4' WHEN 10 THEN '%zz' WHEN 11 THEN '%41%' WHEN 12 THEN '%😀' ELSE NULL END AS x FROM texts);
-- expect: error CANNOT_DECODE_URL
SELECT id, url_decode(concat('a%', id)) AS a FROM texts;
SELECT id, u, try_parse_url(u, 'HOST') AS a, try_parse_url(u, 'PATH') AS b, try_parse_url(u, 'QUERY') AS c, try_parse_url(u, 'REF') AS d, try_parse_url(u, 'PROTOCOL') AS e, try_parse_url(u, 'FILE') AS f, try_parse_url(u, 'AUTHORITY') AS g, try_parse_url(u, 'USERINFO') AS h, try_parse_url(u, 'host') AS i, try_parse_url(u, part) AS j, try_parse_url(u, 'QUERY', 'k') AS l, try_parse_url(u, 'HOST', 'k') AS m FROM (SELECT id, CASE id % 5 WHEN 0 THEN 'HOST' WHEN 1 THEN 'PATH' WHEN 2 THEN 'QUERY' WHEN 3 THEN 'FILE' ELSE NULL END AS part, CASE id % 40 WHEN 0 THEN 'https://spark.apache.org/path?query=1&k=2#Ref' WHEN 1 THEN 'http://user:pa%20ss@1.2.3.4:8080/a;b/c?k=a=b' WHEN 2 THEN 'http://[::1]:80/x' WHEN 3 THEN 'mailto:a@b.c?k=1' WHEN 4 THEN '' WHEN 5 THEN '//host' WHEN 6 THEN 'a_b' WHEN 7 THEN 'http://a_b.c/' WHEN 8 THEN 'http://-a.b' WHEN 9 THEN 'http://1.2.3.400' WHEN 10 THEN 'http://' WHEN 11 THEN 'http:///p' WHEN 12 THEN 'http://é.com/é?é#é' WHEN 13 THEN 'http://a b' WHEN 14 THEN 'http://a.b/%zz' WHEN 15 THEN 'http://a.b?' WHEN 16 THEN 'http://a.b#' WHEN 17 THEN 'http://a.b:x/' WHEN 18 THEN 'http://a.b:/' WHEN 19 THEN 'http://a.b:99999999999' WHEN 20 THEN 'http://[1:2:3:4:5:6:1.2.3.4]' WHEN 21 THEN 'http://[fe80::1%eth0]/' WHEN 22 THEN 'http://[1:2]/' WHEN 23 THEN 'http:' WHEN 24 THEN ':a' WHEN 25 THEN '1a:b' WHEN 26 THEN 'x?k=&k=3' WHEN 27 THEN '/p?xk=1&k=2' WHEN 28 THEN 'http://a@b@c/' WHEN 29 THEN 'http://@a/' WHEN 30 THEN 'http://a.b.:1/' WHEN 31 THEN 'http://%41.b/' WHEN 32 THEN 'http://a%/' WHEN 33 THEN 'file:/x/y' WHEN 34 THEN '#f' WHEN 35 THEN 'http://a.1b' WHEN 36 THEN 'http://a\\b' ELSE s END AS u FROM texts);
SELECT id, parse_url(concat('https://h', id, '.org/p?k=', id), 'QUERY', 'k') AS a, parse_url('http://a/b', CASE id % 2 WHEN 0 THEN 'PATH' ELSE 'REF' END) AS b FROM texts;
-- expect[ansi=true]: error INVALID_URL
SELECT id, parse_url(concat('http://a b', id), 'HOST') AS a FROM texts;
-- A key with a meaning in regular expressions stays in Spark.
-- expect: partly try_parse_url
SELECT id, try_parse_url(s, 'QUERY', 'k.') AS a FROM texts;
-- expect: partly try_parse_url
SELECT id, try_parse_url(concat('http://a/?k=', id), 'QUERY', s) AS a FROM texts;
-- Parts from a column, and one of several keys.
SELECT id, parse_url(u, part, 'k') AS a, parse_url(u, 'QUERY', CASE id % 11 WHEN 0 THEN 'k' WHEN 1 THEN 'a b' WHEN 2 THEN 'é' WHEN 3 THEN '' WHEN 4 THEN 'K' WHEN 5 THEN 'x=y' WHEN 6 THEN '&k' WHEN 7 THEN '😀' WHEN 8 THEN 'a-b~c/#%2' WHEN 9 THEN '"<>`\'!:;,@' END) AS b, parse_url(u, part, CASE id % 5 WHEN 0 THEN 'k' WHEN 1 THEN 'é' WHEN 2 THEN NULL ELSE '' END) AS c, parse_url('http://a/?k=1&é=2', part, if(id % 2 = 0, 'k', 'é')) AS d, parse_url('http://a/?k=1&k=2', 'QUERY', coalesce(if(id % 3 = 0, 'k', NULL), 'é')) AS e, parse_url(u, part, NULL) AS f, parse_url(u, NULL, if(id > 3, 'k', 'l')) AS g, parse_url(CAST(NULL AS string), part, if(id % 2 = 0, 'k', 'é')) AS h, parse_url(u, part) AS i, parse_url(u, 'query', if(id > 3, 'k', 'l')) AS j, parse_url(u, 'HOST', if(id > 3, 'k', 'l')) AS l, parse_url('http://a/?q=1', s, if(id > 3, 'q', 'l')) AS m FROM (SELECT id, s, CASE id % 9 WHEN 0 THEN 'HOST' WHEN 1 THEN 'PATH' WHEN 2 THEN 'query' WHEN 3 THEN NULL ELSE 'QUERY' END AS part, CASE id % 13 WHEN 0 THEN 'http://h/p?k=1&é=2&a-b~c/=3' WHEN 1 THEN '?=5&x=y=6' WHEN 2 THEN 'http://h?K=&k=&k=1' WHEN 3 THEN 'http://h/#k=1' WHEN 4 THEN NULL WHEN 5 THEN '?&&k=1' WHEN 6 THEN '?😀=1&kk=2' WHEN 7 THEN 'mailto:a?k=1' WHEN 8 THEN '?\'!:;,@=1&k' WHEN 9 THEN '?%6b=3&k=%20' ELSE concat('http://h', id, '/?k=', id, '&x=y=', id) END AS u FROM texts);
-- Other parts than the query, and NULL keys, are found before the URL is parsed.
SELECT id, parse_url(concat('http://a b', id), CASE id % 2 WHEN 0 THEN 'HOST' END, 'k') AS a, parse_url(concat('http://a b', id), 'PATH', 'k') AS b, parse_url(concat('http://a b', id), 'QUERY', CASE WHEN id < 0 THEN 'k' END) AS c FROM texts;
-- expect[ansi=true]: error INVALID_URL
SELECT id, parse_url(concat('http://a b', id), CASE id % 2 WHEN 0 THEN 'HOST' ELSE 'QUERY' END, 'k') AS a FROM texts;
-- expect[ansi=true]: error INVALID_URL
SELECT id, parse_url(concat('http://a b', id), 'QUERY', CASE id % 2 WHEN 0 THEN 'k' ELSE 'l' END) AS a FROM texts;
SELECT id, encode(s, 'UTF-16') AS a, encode(s, 'utf-16BE') AS b, encode(s, 'UTF-16le') AS c, encode(s, 'UTF-32') AS d, encode('abc', 'US-ASCII') AS e, encode(s, c) AS f, decode(encode(s, c), c) AS g FROM (SELECT id, s, CASE id % 5 WHEN 0 THEN 'UTF-16' WHEN 1 THEN 'utf-8' WHEN 2 THEN 'UTF-16LE' WHEN 3 THEN 'UTF-32' ELSE NULL END AS c FROM texts);
SELECT id, decode(bin, 'ISO-8859-1') AS a, decode(encode(s, 'UTF-32'), 'UTF-32') AS b FROM texts;
SELECT id, decode(x, 'UTF-16') AS a, decode(x, 'UTF-16LE') AS b, decode(x, 'UTF-16BE') AS c FROM (SELECT id, CASE id % 4 WHEN 0 THEN X'FEFF0041' WHEN 1 THEN X'FFFE4100' WHEN 2 THEN X'' ELSE X'00410042' END AS x FROM texts);
-- expect: error MALFORMED_CHARACTER_CODING
SELECT id, encode(s, 'US-ASCII') AS a FROM texts;
-- expect: error MALFORMED_CHARACTER_CODING
SELECT id, decode(bin, 'UTF-16') AS a FROM texts;
-- expect: error INVALID_PARAMETER_VALUE.CHARSET
SELECT id, encode(s, concat('UTF-', id)) AS a FROM texts;
-- expect: error INVALID_PARAMETER_VALUE.CHARSET
SELECT id, decode(bin, 'latin1') AS a FROM texts;
SELECT id, is_valid_utf8(s) AS a, make_valid_utf8(s) AS b, validate_utf8(s) AS c, try_validate_utf8(s) AS d FROM texts;
SELECT id, mask(s) AS a, mask(s, 'Q', 'q', 'd', 'o') AS b, mask(s, NULL, 'q', NULL, '*') AS c, mask(s, 'Q', NULL, 'd', 'é') AS d, mask(s, '😀', 'x', '中') AS e FROM (SELECT id, CASE id % 9 WHEN 0 THEN 'AbCD123-@$#' WHEN 1 THEN 'ÉéßǅªⅧ٣😀' WHEN 2 THEN '\u2c2f\ua7c1\u1c89\ua7dc' ELSE s END AS s FROM texts);
SELECT id, try_to_binary(s, 'hex') AS a, try_to_binary(s, 'base64') AS b, try_to_binary(s, 'utf-8') AS c, to_binary(hex(s), 'hex') AS d, to_binary(base64(bin), 'base64') AS e, try_to_binary(x, 'base64') AS f FROM (SELECT id, s, bin, CASE id % 11 WHEN 0 THEN 'kA==' WHEN 1 THEN 'kA' WHEN 2 THEN 'kA=' WHEN 3 THEN 'Gf Y =' WHEN 4 THEN 'GfY= ' WHEN 5 THEN 'kA= =' WHEN 6 THEN 'A' WHEN 7 THEN 'GfYAGf==' WHEN 8 THEN '=' WHEN 9 THEN 'kA==AAAA' ELSE NULL END AS x FROM texts);
-- expect: error CONVERSION_INVALID_INPUT
SELECT id, to_binary(concat('g', id), 'hex') AS a FROM texts;
-- expect: error CONVERSION_INVALID_INPUT
SELECT id, to_binary(concat('=', id), 'base64') AS a FROM texts;
SELECT id, lpad(bin, 5, X'0102') AS a, rpad(bin, 5, CAST(s AS binary)) AS b, lpad(bin, CAST(id % 9 AS int) - 2) AS c, rpad(bin, 3, X'') AS d, lpad(bin, len % 20, CAST(s2 AS binary)) AS e FROM texts;
SELECT id, concat_ws(s) AS a FROM texts;
-- Bytes read as a string without a check.
SELECT id, is_valid_utf8(bin) AS a, make_valid_utf8(bin) AS b, try_validate_utf8(bin) AS c, validate_utf8(CAST(s AS binary)) AS e, is_valid_utf8(X'80') AS f FROM texts;
-- expect: error INVALID_UTF8_STRING
SELECT id, validate_utf8(bin) AS a FROM texts;
-- Constants whose bytes are not UTF-8 stay in Spark.
-- expect: partly a constant string whose bytes are not UTF-8
SELECT id, hex(concat(s, CAST(X'61FF' AS string))) AS a, s < CAST(X'61FF' AS string) AS b FROM texts;
-- expect: partly a constant string whose bytes are not UTF-8
SELECT id FROM texts WHERE s IN ('a', CAST(X'FF' AS string)) OR s IN ('1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', CAST(X'FF' AS string));
SELECT id, length(CAST(bin AS string)) AS a, bin IS NULL AS b FROM texts;
SELECT id, count(*) OVER (PARTITION BY CAST(bin AS string)) AS a, hex(upper(CAST(bin AS string))) AS b, btrim(CAST(CAST(s AS binary) AS string)) AS c FROM texts;
SELECT id, substring(bin, pos, len) AS a, left(bin, CAST(id % 4 AS int)) AS b, substring(encode(s, 'UTF-16BE'), pos, 3) AS c, substring(bin, pos) AS e FROM texts;
SELECT id, concat_ws('/', s, NULL, s2) AS a, concat_ws(s, NULL, s2, NULL) AS b, concat_ws(s, NULL) AS c FROM texts;
