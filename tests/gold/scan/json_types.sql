-- Values of JSON files in partitions.
-- tables: json_days
-- matrix: ansi=true,false ; spark.sql.session.timeZone=UTC,America/Los_Angeles

SELECT * FROM json_days WHERE id < 50;
SELECT day, count(*), sum(id), sum(price), max(word), min(unix_micros(at)) FROM json_days GROUP BY day;
SELECT word, sum(share) > 0, sum(size(tags)), max(more.left) FROM json_days WHERE day > DATE'2024-01-01' AND id % 2 = 0 GROUP BY word;
SELECT * FROM json_days WHERE word = 'a, "b"\n' AND id < 20;
SELECT tag, count(*) FROM json_days LATERAL VIEW explode(tags) AS tag GROUP BY tag;
SELECT count(*) FROM json_days;
SELECT count(more.right), count(more), sum(more.left) FROM json_days WHERE more IS NOT NULL;
