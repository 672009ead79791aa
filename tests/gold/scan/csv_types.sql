-- Values of all types in CSV files, valid and not, and the text of malformed lines; partitions.
-- tables: csv_typed, csv_dropped, csv_days
-- matrix: ansi=true,false ; spark.sql.session.timeZone=UTC,America/Los_Angeles

SELECT b, t, s, i, l, f, d, m, w, unix_date(day), unix_micros(at), unix_micros(CAST(local AS timestamp)), v, _corrupt_record FROM csv_typed;
SELECT b, t, s, i, l, f, d, m, w, unix_date(day), unix_micros(at), unix_micros(CAST(local AS timestamp)), v FROM csv_dropped;
SELECT b, t, s, i, l FROM csv_typed;
SELECT f, d FROM csv_dropped;
SELECT m, w, _corrupt_record FROM csv_typed;
SELECT m, w FROM csv_dropped WHERE m > 0;
SELECT unix_date(day), unix_micros(at), unix_micros(CAST(local AS timestamp)) FROM csv_typed;
SELECT unix_date(day), unix_micros(at), unix_micros(CAST(local AS timestamp)) FROM csv_dropped WHERE day IS NOT NULL;
SELECT i, _corrupt_record FROM csv_typed WHERE i > 5 AND _corrupt_record IS NULL;
SELECT count(*), count(v) FROM csv_dropped;
SELECT day, count(*), sum(id), sum(price), max(word) FROM csv_days GROUP BY day;
SELECT word, sum(share) > 0 FROM csv_days WHERE day > DATE'2024-01-01' AND id % 2 = 0 GROUP BY word;
SELECT * FROM csv_days WHERE word = 'a, b' AND id < 20;
SELECT count(*) FROM csv_days;
