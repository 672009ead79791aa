-- Patterns of dates and texts that each row chooses among constants.
-- tables: times, texts
-- matrix: ansi=true,false ; tz=America/New_York

SELECT id, date_format(ts, CASE id % 3 WHEN 0 THEN 'yyyy-MM-dd' WHEN 1 THEN 'dd/MM/yyyy HH:mm:ss.SSS XXX' ELSE 'EEE MMM' END) AS a, date_format(ts, IF(id % 2 = 0, 'yyyy', NULL)) AS b, from_unixtime(id * 86400, coalesce(IF(id > 7, NULL, 'MM'), 'dd HH')) AS c FROM times WHERE ts BETWEEN TIMESTAMP'0002-01-01' AND TIMESTAMP'9990-01-01';
SELECT id, to_date(x, CASE WHEN id % 2 = 0 THEN 'yyyy-MM-dd' WHEN id % 7 > 0 THEN 'dd/MM/yyyy' END) AS a, to_timestamp(x, CASE WHEN id % 2 = 0 THEN 'yyyy-MM-dd' WHEN id % 7 > 0 THEN 'dd/MM/yyyy' END) AS b, unix_timestamp(x, CASE WHEN id % 2 = 0 THEN 'yyyy-MM-dd' WHEN id % 7 > 0 THEN 'dd/MM/yyyy' END) AS c, try_to_timestamp(concat(x, IF(id % 4 = 0, '!', '')), CASE WHEN id % 2 = 0 THEN 'yyyy-MM-dd' WHEN id % 7 > 0 THEN 'dd/MM/yyyy' END) AS e FROM (SELECT id, IF(id % 2 = 0, '2021-03-04', '04/03/2021') AS x FROM times);
-- expect[ansi=true]: error CANNOT_PARSE_TIMESTAMP
SELECT id, to_timestamp('2021-03-04', CASE WHEN id % 2 = 0 THEN 'yyyy-MM-dd' ELSE 'dd/MM/yyyy' END) AS a FROM times;
SELECT id, s RLIKE IF(id % 2 = 0, '^[a-c]', 'b+$') AS a, regexp_replace(s, CASE WHEN id % 3 = 0 THEN '[aeiou]' WHEN id % 3 = 1 THEN '\\d+' END, IF(id % 2 = 0, '', '<>')) AS b, regexp_extract(s, IF(id % 2 = 0, '(a)(b)', '([a-z])(.)'), 2) AS c, regexp_instr(s, IF(id % 5 = 0, NULL, 'b')) AS e FROM texts;
SELECT id, s FROM texts WHERE s RLIKE CASE flag WHEN 'R' THEN 'a' WHEN 'A' THEN '^.$' ELSE '[0-9]' END;
SELECT id, s RLIKE IF(id % 2 = 0, 'A', '(?i)A|b$') AS a, regexp_replace(s, IF(id % 2 = 0, '(a)(b)', '(?<=a)()(.)'), IF(id % 3 = 0, '$2$1', NULL)) AS b, regexp_extract(s, IF(id % 2 = 0, '(b)?', '^(.)'), 1) AS c FROM texts;
-- A choice with one pattern that does not convert stays in Spark.
-- expect: partly date_format
SELECT id, date_format(ts, IF(id % 2 = 0, 'yyyy', 'zzzz')) AS a FROM times WHERE ts > TIMESTAMP'0002-01-01';
-- expect: partly rlike
SELECT id, s RLIKE IF(id % 2 = 0, 'a', '\\Bb') AS a FROM texts;
-- expect: partly regexp_replace
SELECT id, regexp_replace(s, IF(id % 2 = 0, 'a', 'b'), s2) AS a FROM texts WHERE s2 = 'x';
