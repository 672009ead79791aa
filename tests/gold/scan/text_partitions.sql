-- Lines of text files below partitions: columns of values and partitions, words of lines.
-- tables: text_words
-- matrix: ansi=true ; aqe=true,false ; spark.sql.files.maxPartitionBytes=20k

SELECT * FROM text_words WHERE value LIKE 'engine naïve%';
SELECT day, count(*), count(DISTINCT value) FROM text_words GROUP BY day;
SELECT day, count(*) FROM text_words WHERE day > DATE'2024-01-01' GROUP BY day;
SELECT count(*) FROM text_words;
SELECT w, count(*) FROM (SELECT explode(split(value, ' ')) AS w FROM text_words) GROUP BY w;
SELECT upper(value) AS u FROM text_words WHERE day = (SELECT max(day) FROM text_words) AND length(value) < 3;
