-- Lines of text files: every end of a line, marks, bytes that are not UTF-8, gzip, splits that cut files anywhere.
-- tables: text_lines, text_random
-- matrix: ansi=true ; spark.sql.files.maxPartitionBytes=128m,40 ; spark.sql.files.openCostInBytes=0

SELECT hex(value) FROM text_lines;
SELECT hex(value), count(*) FROM text_random GROUP BY value;
SELECT count(*) FROM text_lines;
SELECT count(*), sum(length(value)), min(value), max(value) FROM text_random;
SELECT input_file_block_start() AS start, input_file_block_length() AS size, value FROM text_lines WHERE value LIKE '%ir%';
SELECT value FROM text_lines WHERE value = 'first' OR value IS NULL OR value = '';
SELECT a.value FROM text_lines a JOIN text_random b ON a.value = b.value WHERE length(a.value) > 0;
