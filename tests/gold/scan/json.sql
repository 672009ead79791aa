-- Lines of JSON files: values of any form, damage of every kind, bytes that are not UTF-8, gzip, splits anywhere, malformed lines.
-- tables: json_lines, json_dropped, json_nested
-- matrix: ansi=true ; spark.sql.files.maxPartitionBytes=128m,40 ; spark.sql.files.openCostInBytes=0

SELECT * FROM json_lines;
SELECT a, b, c FROM json_lines;
SELECT b FROM json_lines;
SELECT _corrupt_record, a FROM json_lines WHERE _corrupt_record IS NOT NULL;
SELECT c FROM json_lines WHERE c > 'a';
SELECT count(*) FROM json_lines;
SELECT count(*), count(a), max(b), count(_corrupt_record) FROM json_lines;
SELECT input_file_block_start() AS start, a FROM json_lines WHERE a LIKE '1%';
SELECT * FROM json_dropped;
SELECT a FROM json_dropped;
SELECT x, b FROM json_dropped WHERE b IS NOT NULL;
SELECT count(*) FROM json_dropped;
SELECT * FROM json_nested;
SELECT a, c FROM json_nested;
SELECT b.x, size(a), c['k'], bad FROM json_nested;
SELECT count(*), sum(a[0]) FROM json_nested WHERE size(a) > 0;
-- expect: partly a filter=that a malformed record may pass
SELECT a FROM json_lines WHERE a IS NULL;
-- expect: rejected UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN
SELECT _corrupt_record FROM json_lines;
