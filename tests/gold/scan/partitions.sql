-- Partition columns of several types, NULL partitions, escaped values, partition pruning, partition columns alone.
-- tables: partitioned
-- matrix: ansi=true ; aqe=true,false

SELECT * FROM partitioned;
SELECT p_num, x FROM partitioned;
SELECT p_text, p_day FROM partitioned;
SELECT p_day, count(*), sum(x) FROM partitioned GROUP BY p_day;
SELECT p_text, count(*) FROM partitioned GROUP BY p_text;
SELECT * FROM partitioned WHERE p_num = 1;
SELECT id FROM partitioned WHERE p_text = 'x=y' AND id > 203;
SELECT id FROM partitioned WHERE p_text IS NULL;
SELECT id, p_day FROM partitioned WHERE p_day > DATE'2024-01-02' AND x < 3;
SELECT id FROM partitioned WHERE p_num + 1 = 2 OR id = 3;
SELECT count(*) FROM partitioned WHERE p_text = 'none such';
SELECT p_num + 1 AS next, p_text FROM partitioned WHERE p_num IS NOT NULL;
