-- Groups by windows of time: tumbling, sliding, with an offset; rows on bounds, before 1970 and without a time.
-- Bounds are texts, as Python has no years below 1.
-- tables: times
-- matrix: tz=UTC,Asia/Kolkata

select string(w.start), string(w.end), c, m from (select window(ts, '5 minutes') w, count(*) c, min(id) m from times group by window(ts, '5 minutes'));

select string(window.start), string(window.end), count(*) from times where year(ts) between 1900 and 2100
group by window(ts, '1 day', '6 hours', '2 hours');

select string(w.start), d, count(id) from (select window(ntz, '10 days') w, d, id from times) group by w, d;

select id, string(w.end) from (select id, window(ts, '36500 days') w from times) order by w, id;

select id, string(window_time(window)) from (select id, ts, window(ts, '2 hours') window from times);
