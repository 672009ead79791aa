-- Malformed lines of CSV files, with their text.
-- tables: csv_lines
-- matrix: ansi=true ; spark.sql.files.maxPartitionBytes=128m,40 ; spark.sql.files.openCostInBytes=0 ; spark.sql.columnNameOfCorruptRecord=bad ; spark.sql.csv.parser.columnPruning.enabled=true,false

SELECT * FROM csv_lines;
SELECT bad, a FROM csv_lines;
SELECT bad, a FROM csv_lines WHERE bad IS NOT NULL AND c = 'c';
SELECT a, c FROM csv_lines;
SELECT count(*) FROM csv_lines;
