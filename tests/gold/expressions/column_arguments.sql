-- Arguments that are mostly constants, as columns: patterns, delimiters, lengths, levels, days of the week.
-- tables: texts, numbers, times
-- matrix: ansi=true,false ; tz=America/New_York,Asia/Kathmandu

SELECT id, substring_index(s, substring(s2, 1, 1), id % 4 - 2) AS a, substring_index(s, '', id % 3) AS b, substring_index(s, s2, 1) AS c, substring_index(s, IF(id % 5 = 0, NULL, 'a'), 1) AS d FROM texts;
SELECT id, translate(s, s2, 'xyz') AS a, translate(s, 'abc', substring(s2, 1, id % 4)) AS b, translate(s, s2, s) AS c FROM texts;
SELECT id, trim(substring(s2, 1, 2) FROM s) AS a, ltrim(substring(s2, 1, 1), s) AS b, rtrim(substring(s, -1), s) AS c, trim(BOTH IF(id % 4 = 0, '', ' a') FROM s) AS d FROM texts;
SELECT id, lpad(s, CAST(id % 9 AS int) - 2, s2) AS a, rpad(s, CAST(id % 12 AS int), substring(s2, 1, 2)) AS b, lpad(s, 5, s2) AS c, rpad(s, CAST(id % 7 AS int), 'ä😀') AS d, lpad(s, 1200 + CAST(id % 2 AS int), 'xy') AS e FROM texts;
SELECT id, repeat(s, CAST(id % 5 AS int) - 1) AS a, length(space(CAST(id % 7 AS int) - 2)) AS b, length(repeat('ab', 150 + CAST(id % 3 AS int))) AS c FROM texts;
SELECT id, locate('a', s, CAST(id % 5 AS int) - 1) AS a, locate(substring(s2, 1, 1), s, CAST(id % 4 AS int)) AS b, locate('a', s, CAST(NULL AS int)) AS c, locate(s2, s, IF(id % 3 = 0, NULL, 1)) AS d FROM texts;
SELECT id, levenshtein(s, s2, CAST(id % 5 AS int)) AS a, levenshtein(s, s2, IF(id % 3 = 0, NULL, 2)) AS b FROM texts;
SELECT id, sha2(s, CASE id % 6 WHEN 0 THEN 0 WHEN 1 THEN 224 WHEN 2 THEN 256 WHEN 3 THEN 384 WHEN 4 THEN 512 ELSE 7 END) AS a, sha2(s, 1) AS b FROM texts;
SELECT id, s LIKE s2 AS a, s LIKE concat('%', substring(s2, 1, 1), '%') AS b, s NOT LIKE concat(substring(s, 1, 1), '_', '%') AS c, s LIKE IF(id % 3 = 0, NULL, '%a%b%') AS d FROM (SELECT id, s, replace(s2, '\\', '') AS s2 FROM texts);
SELECT id, s FROM texts WHERE s LIKE concat('%', replace(substring(s, 2, 1), chr(92), ''));
-- expect: error INVALID_FORMAT.ESC_IN_THE_MIDDLE
SELECT id, s LIKE concat('a\\b', id) AS a FROM texts;
-- expect: error INVALID_FORMAT.ESC_AT_THE_END
SELECT id, s LIKE concat(id, '#') ESCAPE '#' AS a FROM texts;
SELECT id, format_number(l, CAST(abs(id) % 5 AS int) - 1) AS a, format_number(n18, CAST(abs(id) % 4 AS int)) AS b FROM numbers;
SELECT id, trunc(d, unit) AS a, trunc(d, 'nothing') AS b, date_trunc(unit, ts) AS c, date_trunc('nothing', ts) AS d FROM (SELECT id, d, ts, CASE id % 14 WHEN 0 THEN 'year' WHEN 1 THEN 'YYYY' WHEN 2 THEN 'mon' WHEN 3 THEN 'Month' WHEN 4 THEN 'week' WHEN 5 THEN 'quarter' WHEN 6 THEN 'day' WHEN 7 THEN 'hour' WHEN 8 THEN 'minute' WHEN 9 THEN 'second' WHEN 10 THEN 'millisecond' WHEN 11 THEN 'microsecond' WHEN 12 THEN '' ELSE NULL END AS unit FROM times WHERE ts BETWEEN TIMESTAMP'0003-01-01 00:00:00' AND TIMESTAMP'9980-01-01 00:00:00' AND d BETWEEN DATE'0003-01-01' AND DATE'9980-01-01');
SELECT id, next_day(d, CASE id % 8 WHEN 0 THEN 'Mo' WHEN 1 THEN 'TUE' WHEN 2 THEN 'wednesday' WHEN 3 THEN 'th' WHEN 4 THEN 'FRI' WHEN 5 THEN 'sat' WHEN 6 THEN 'Su' ELSE NULL END) AS a FROM times WHERE d < DATE'9990-01-01';
-- expect[ansi=true]: error ILLEGAL_DAY_OF_WEEK
SELECT id, next_day(d, concat('Mo', id % 5)) AS a FROM times WHERE d < DATE'9990-01-01';
-- expect[ansi=true]: error ILLEGAL_DAY_OF_WEEK
SELECT id, next_day(d, 'nothing') AS a FROM times;
