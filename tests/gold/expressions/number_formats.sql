-- Numbers by formats: of digits with signs, separators and brackets, and of printf.
-- tables: texts, numbers, tame
-- matrix: ansi=true,false

SELECT id, to_char(n9, '999.99') AS a, to_char(n9, '000000000.00') AS b, to_char(n9, 'S9,999,999.90') AS c, to_char(n9, '$9999999.99MI') AS e, to_char(n9, '9G999G999D99PR') AS f, to_char(n9, 'MI0999999.00') AS g, to_varchar(n9, '.99') AS h, to_char(n9, '9') AS i FROM numbers;
SELECT id, to_char(i, '999') AS a, to_char(i, 'S0,000,000,000') AS b, to_char(l, '99999999999999999999PR') AS c, to_char(n18, '999,999,999,999,999.9999S') AS e, to_char(n18, '$999.9') AS f, to_char(n380, '99999999999999999999999999999999999999') AS g, to_char(n38, 'S9999999999999999999999999999.9999999999') AS h, to_char(t, '0.') AS j, to_char(t, '99.MI') AS k, to_char(t, '$9.S') AS m, to_char(t, '99.PR') AS o FROM numbers;
SELECT id, to_char(n9, '9,9') AS a, to_char(n15, '999,99.9S') AS b, to_char(d, '999.9') AS c, to_char(z, '$0') AS e, to_char(z, 'S$.9') AS f, to_char(z, '.9PR') AS g, to_char(n15, '0,000') AS h, to_char(NULL, '9') AS i FROM (SELECT id, n9, n15, CAST(d AS decimal(12,1)) AS d, z FROM tame);
SELECT id, x, try_to_number(x, '999') AS a, try_to_number(x, '000') AS b, try_to_number(x, 'S9,999.99') AS c, try_to_number(x, '$99.9MI') AS e, try_to_number(x, '9G999D90PR') AS f, try_to_number(x, '99,99') AS g, try_to_number(IF(x LIKE '.%', x, 'a'), '.00') AS h, try_to_number(x, 's$0,009') AS i, try_to_number(x, '99999999999999999999.9') AS j FROM (SELECT id, CASE id % 40 WHEN 0 THEN '454' WHEN 1 THEN '12' WHEN 2 THEN '012' WHEN 3 THEN '1,234.5' WHEN 4 THEN '-1,234.56' WHEN 5 THEN '+1234' WHEN 6 THEN '$78.1' WHEN 7 THEN '$78.1-' WHEN 8 THEN '<1,234.50>' WHEN 9 THEN '<5>' WHEN 10 THEN '5' WHEN 11 THEN '1,2' WHEN 12 THEN '12,34' WHEN 13 THEN '123,4' WHEN 14 THEN ' 12' WHEN 15 THEN '1 2' WHEN 16 THEN '12 ' WHEN 17 THEN '.5' WHEN 18 THEN '.' WHEN 19 THEN '-$1,234' WHEN 20 THEN '$0,123' WHEN 21 THEN '١٢' WHEN 22 THEN 'a' WHEN 23 THEN '1a' WHEN 24 THEN '--1' WHEN 25 THEN ',1' WHEN 26 THEN '1,' WHEN 27 THEN '99999999999999999999.9' WHEN 28 THEN '-' || '3' WHEN 29 THEN '1.' WHEN 30 THEN '0.0' WHEN 31 THEN '-0' WHEN 32 THEN '1.234' WHEN 33 THEN '<1' WHEN 34 THEN concat('1', chr(9)) WHEN 35 THEN concat('1', chr(133)) WHEN 36 THEN '$$1' WHEN 37 THEN '00' ELSE NULL END AS x FROM texts);
SELECT id, to_number(CAST(id AS string), '999') AS a, to_number(concat('$', id, '.5'), '$999.9') AS b, to_number(concat('-', id), 'S999') + 1 AS c FROM texts;
-- expect: error INVALID_FORMAT.MISMATCH_INPUT
SELECT id, to_number(concat('x', id), 's999') AS a FROM texts;
-- expect: error INVALID_FORMAT.MISMATCH_INPUT
SELECT id, to_number(IF(id > 7, '', '5'), '999') AS a FROM texts;
-- expect: error NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION
SELECT id, try_to_number(IF(id > 7, '12', '.5'), '.00') AS a FROM texts;
SELECT id, format_string('%d|%5d|%-5d|%05d|%,d|%+d|% d|%(d|%,015d|%(,+20d', i, i, i, i, i, i, i, i, i, i) AS a, printf('%d %d %d', t, s, l) AS b, format_string('%x %X %o %08x %-9x|%12o', i, l, s, t, i, l) AS c FROM numbers;
SELECT id, format_string('%f|%.2f|%10.3f|%-12.1f|%012.4f|%,.2f|%+.1f|% .0f|%(,.3f', d, d, d, d, d, d, d, d, d) AS a, format_string('%.2f %f %e', f, f, f) AS b, format_string('%e|%.0e|%15.3E|%-15.2e|%015.1e|%+e|%(e', d, d, d, d, d, d, d) AS c, format_string('%s %s %.3s', d, f, d) AS e FROM numbers;
SELECT id, format_string('%.1f %.2f %.3f %.0f', x, x, x, x) AS a FROM (SELECT id, CASE id % 14 WHEN 0 THEN 0.15D WHEN 1 THEN 0.25D WHEN 2 THEN 1.005D WHEN 3 THEN 2.675D WHEN 4 THEN 0.5D WHEN 5 THEN 1.5D WHEN 6 THEN -0.04D WHEN 7 THEN 9.9995D WHEN 8 THEN 123456789.125D WHEN 9 THEN 2e-3D WHEN 10 THEN 1.9999999999999999e23D WHEN 11 THEN 4.35D WHEN 12 THEN id / 1000.0D ELSE id * 1.1D END AS x FROM numbers);
SELECT id, format_string('%s-%10s-%-10s|%.2s|%5.1s|%2$s %1$s %s', s, s2, s, s, s2, s) AS a, format_string('%s %b %b %b', flag, flag, id, NULL) AS b, format_string('%%%n') AS c, format_string('plain') AS e FROM texts;
SELECT id, format_string('%s %s %s %s %d %s', b, n9, n38, NULL, nothing, t) AS a, printf('%.1s|%6b|%-6b|%.2f', b, b, b2, CAST(NULL AS double)) AS b FROM numbers;
SELECT id, format_string('%d %s %s', d, d, ntz) AS a FROM times;
-- expect: error
SELECT id, format_string('%d', s) AS a FROM texts;
-- expect: error
SELECT id, format_string('%.2f', n9) AS a FROM numbers;
-- expect: error
SELECT id, format_string('%s %s', s) AS a FROM texts;
-- expect: partly format_string
SELECT id, format_string('%g %S %h', d, 'a', i) AS a FROM numbers;
-- expect: partly format_string
SELECT id, format_string(s, id) AS a FROM texts WHERE s NOT LIKE '%\\%%';
-- expect: partly format_string
SELECT id, format_string('%-d %05.1f', i, d) AS a FROM numbers WHERE id < 0;
