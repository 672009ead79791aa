-- Session windows: sorted rows whose intervals overlap or meet are one session. Also across chunks, of several keys, of keys
-- that are NULL, by gaps of months, days and hours in a zone that changes its offset, and by the rows' own gaps.
-- tables: times, nests, keys
-- matrix: ansi=true,false ; aqe=true,false ; batch=7

SELECT k, session_window.start, session_window.end, count(*), sum(id), min(id), max(id) FROM (SELECT id % 3 AS k, timestamp_seconds(id * id * 10) AS t, id FROM range(100)) GROUP BY k, session_window(t, '5 minutes');
SELECT session_window, count(*), avg(id) FROM (SELECT timestamp_seconds(id * id * 10) AS t, id FROM range(100)) GROUP BY session_window(t, '5 minutes');
SELECT session_window, count(*) FROM (SELECT timestamp_seconds(id * 60) AS t FROM range(400)) GROUP BY session_window(t, '1 minute');
SELECT session_window, count(*) FROM (SELECT timestamp_seconds(id * 61) AS t FROM range(400)) GROUP BY session_window(t, '1 minute');
SELECT days, sdays, unix_micros(session_window.start), unix_micros(session_window.end), count(*), count(d) FROM times GROUP BY days, sdays, session_window(ts, '3 hours');
SELECT tdays, unix_micros(session_window.start), unix_micros(session_window.end), count(*), collect_set(days) IS NULL FROM times GROUP BY session_window(ts2, '1 day 2 hours'), tdays;
SELECT days, unix_micros(CAST(session_window.end AS TIMESTAMP)), count(*) FROM times GROUP BY days, session_window(ntz, '36 hours');
-- Gaps of months and days move local times.
-- set: spark.sql.session.timeZone=America/St_Johns
SELECT days, unix_micros(session_window.start), unix_micros(session_window.end), count(*), max(id) FROM times GROUP BY days, session_window(ts, '1 month 1 day');
-- set: spark.sql.session.timeZone=America/St_Johns
SELECT session_window, count(*) FROM (SELECT TIMESTAMP'2011-03-12 22:00:00' + id * INTERVAL '30' MINUTE AS t FROM range(9)) GROUP BY session_window(t, '1 day');
-- set: spark.sql.session.timeZone=America/St_Johns
SELECT session_window, count(*) FROM (SELECT TIMESTAMP'2011-11-05 22:00:00' + id * INTERVAL '30' MINUTE AS t, id FROM range(9)) GROUP BY session_window(t, '24 hours'), id % 2;
-- Two stages for DISTINCT; nested keys; keys with -0.0 and NaN.
SELECT days, unix_micros(session_window.start), unix_micros(session_window.end), count(DISTINCT sdays), sum(id) FROM times GROUP BY days, session_window(ts, '10 minutes');
SELECT ai, session_window.start, count(*) FROM (SELECT ai, timestamp_seconds(id * 7 % 50) AS t FROM nests) GROUP BY ai, session_window(t, '3 seconds');
SELECT st, session_window.end, count(*) FROM (SELECT struct(x, s) AS st, timestamp_seconds(y % 50) AS t FROM (SELECT st.x, st.s, id AS y FROM nests)) GROUP BY st, session_window(t, '3 seconds');
SELECT d, session_window.start, count(*), sum(id) FROM (SELECT d, timestamp_seconds(id * 13 % 700) AS t, id FROM keys) GROUP BY d, session_window(t, '30 seconds');
-- Results that depend on order, of rows in one task.
SELECT k, session_window.start, first(id), last(id), max_by(id, t) FROM (SELECT id % 2 AS k, timestamp_seconds(id * 37 % 100 * 10) AS t, id FROM range(0, 100, 1, 1)) GROUP BY k, session_window(t, '15 seconds');
SELECT k, session_window.start, percentile(id, 0.5), stddev(id) FROM (SELECT id % 2 AS k, timestamp_seconds(id * 37 % 100 * 10) AS t, id FROM range(0, 100, 1, 1)) GROUP BY k, session_window(t, '15 seconds');
SELECT k, session_window, count(*) FROM (SELECT id % 2 AS k, timestamp_seconds(id) AS t FROM range(100) WHERE id < 0) GROUP BY k, session_window(t, '5 minutes');
SELECT k, session_window, count(*) FROM (SELECT id AS k, IF(id = 3, NULL, timestamp_seconds(id)) AS t FROM range(5)) GROUP BY k, session_window(t, '5 minutes');
SELECT session_window, count(*) FROM (SELECT timestamp_seconds(id) AS t FROM range(5)) GROUP BY session_window(t, '-5 minutes');
-- expect: error
SELECT unix_micros(session_window.start), unix_micros(session_window.end), count(*) FROM times GROUP BY session_window(ts, '200000000 days');
-- The rows' own gaps: Spark computes the intervals.
-- expect: partly
SELECT k, session_window, count(*) FROM (SELECT id % 3 AS k, id, timestamp_seconds(id * id * 10) AS t FROM range(100)) GROUP BY k, session_window(t, CASE WHEN id % 2 = 0 THEN '20 minutes' ELSE '10 seconds' END);
-- An aggregation that stays in Spark joins the sessions itself.
-- expect[aqe=true]: partly SortAggregateExec is excluded
-- expect[aqe=false]: declined SortAggregateExec is excluded
-- set: spark.pysparkPipeline.exclude=SortAggregateExec
SELECT days, sdays, unix_micros(session_window.start), unix_micros(session_window.end), count(*), count(d) FROM times GROUP BY days, sdays, session_window(ts, '3 hours');
-- One that removes duplicates for DISTINCT has no functions, but more keys than the sessions: it does not join them.
-- expect: any Nothing need be converted: the statement is about what stays in Spark.
-- set: spark.pysparkPipeline.exclude=SortAggregateExec,HashAggregateExec,UpdatingSessionsExec ; spark.sql.execution.useHashAggregateExec=false
SELECT days, unix_micros(session_window.start), unix_micros(session_window.end), count(DISTINCT sdays) FROM times GROUP BY days, session_window(ts, '3 hours');
