-- Many small files, empty files, one large row group, other writers, splits that cut files and row groups apart.
-- tables: small_files, empty, batch_plus_one, spark_written, spark_micros, seconds, lineitem_tiny
-- matrix: ansi=true ; tz=Asia/Kathmandu ; spark.sql.files.maxPartitionBytes=128m,20k

SELECT * FROM small_files;
SELECT count(*), sum(i), count(DISTINCT b) FROM small_files;
SELECT * FROM empty;
SELECT count(*), count(s), sum(n), max(d) FROM empty;
SELECT s, count(*) FROM empty GROUP BY s;
SELECT count(*), sum(id), sum(n), min(id), max(id) FROM batch_plus_one;
SELECT * FROM batch_plus_one WHERE id >= 65530;
SELECT * FROM spark_written;
SELECT s, count(*), min(ts), max(ts) FROM spark_written GROUP BY s;
SELECT ts, dt FROM spark_written WHERE ts > TIMESTAMP'1970-01-05 00:00:00';
SELECT * FROM spark_micros;
SELECT * FROM seconds;
SELECT * FROM lineitem_tiny WHERE l_orderkey < 200;
SELECT count(*), min(l_shipdate), max(l_shipdate), min(l_orderkey), max(l_orderkey) FROM lineitem_tiny;
