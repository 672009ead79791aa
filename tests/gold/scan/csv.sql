-- Fields of CSV files: quotes, escapes, white space, marks, bytes that are not UTF-8, gzip, splits anywhere, malformed lines.
-- tables: csv_lines, csv_options, csv_spaces
-- matrix: ansi=true ; spark.sql.files.maxPartitionBytes=128m,40 ; spark.sql.files.openCostInBytes=0 ; spark.sql.csv.parser.columnPruning.enabled=true,false

SELECT * FROM csv_options;
SELECT * FROM csv_spaces;
SELECT a, b, c FROM csv_lines;
SELECT c, a FROM csv_lines WHERE a IS NOT NULL;
SELECT b FROM csv_options WHERE b = 'b' OR b IS NULL;
SELECT count(*) FROM csv_lines;
SELECT count(*) FROM csv_options;
SELECT count(*), count(a), count(b), max(c) FROM csv_spaces;
SELECT count(*), min(b) FROM csv_lines GROUP BY a;
SELECT input_file_block_start() AS start, a FROM csv_lines WHERE a LIKE 'a%';
SELECT x.a, y.c FROM csv_lines x JOIN csv_options y ON x.a = y.a;
