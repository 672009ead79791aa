-- Functions of the engine that Spark computes faster, where Spark evaluates them on chunks because cost counts.
-- tables: texts, numbers, times, intervals
-- matrix: ansi=true,false
-- set: spark.pysparkPipeline.jvmExpressions=true ; spark.pysparkPipeline.cost.enabled=true ; spark.pysparkPipeline.cost.minScanBytes=0

SELECT soundex(s) AS k, count(*) AS n, max(overlay(s PLACING 'xé' FROM 2)) AS a, min(overlay(s PLACING 'x' FROM -1 FOR 2)) AS b FROM texts GROUP BY 1;
SELECT url_encode(s) AS k, count(*) AS n, max(url_decode(url_encode(s))) AS a, max(try_url_decode(s)) AS b FROM texts GROUP BY 1;
SELECT mask(s) AS k, count(*) AS n, max(mask(ds, 'X', 'x', '#', NULL)) AS a FROM texts GROUP BY 1;
SELECT encode(s, 'utf-16') AS k, count(*) AS n, max(decode(encode(s, 'utf-16le'), 'utf-16le')) AS a FROM texts GROUP BY 1;
SELECT unhex(hex(s)) AS k, count(*) AS n, max(try_to_binary(ds, 'hex')) AS a, max(try_to_binary(s, 'base64')) AS b FROM texts GROUP BY 1;
SELECT find_in_set(s, 'a,b,,abc') AS k, count(*) AS n, sum(find_in_set(flag, concat(s, ',', flag))) AS a FROM texts GROUP BY 1;
SELECT try_parse_url(concat('http://a.b/', id, '?x=', ds, '#', flag), 'QUERY') AS k, count(*) AS n, max(parse_url('http://a.b/c', 'HOST')) AS a FROM texts GROUP BY 1;
SELECT printf('%05d|%s|%.2f', i, CAST(t AS string), d) AS k, count(*) AS n FROM numbers GROUP BY 1;
SELECT to_char(n18, 'S999999999999999999.999') AS k, count(*) AS n, max(format_number(d, '#,##0.0#')) AS a, max(try_to_number(CAST(i AS string), '999999')) AS b FROM numbers GROUP BY 1;
SELECT regexp_replace(s, '(?<=a)[a-z]', '-') AS k, count(*) AS n, max(regexp_extract(s, '(?=b)(.)', 1)) AS a, count_if(s RLIKE '(a)\\1') AS b FROM texts GROUP BY 1;
SELECT id % 7 AS k, count(*) AS n, max(make_dt_interval(id % 9, 1, 2, 3.5)) AS a, sum(dt * 1.5) AS b, max(dt / 3) AS c FROM intervals GROUP BY 1;
-- A row that raises, and one that is guarded.
-- expect: error INVALID_FORMAT.MISMATCH_INPUT
SELECT to_number(s, '999') AS k, count(*) AS n FROM texts GROUP BY 1;
SELECT CASE WHEN s RLIKE '^[0-9]+$' THEN to_number(left(s, 3), '999') END AS k, count(*) AS n FROM texts GROUP BY 1;
SELECT max(soundex(s)) AS a FROM texts WHERE id < 0 GROUP BY flag;
