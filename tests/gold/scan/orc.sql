-- Values of ORC files: every type and compression, stripes and partitions.
-- tables: orc_types, orc_days
-- matrix: ansi=true ; tz=UTC,America/Los_Angeles

SELECT * EXCEPT (months), extract(YEAR FROM months), extract(MONTH FROM months) FROM orc_types;
SELECT word, count(*), sum(price), max(wide), min(seen), max(local), sum(tiny), sum(small), min(share), max(ratio), max(day),
  max(span), extract(YEAR FROM max(months)), count_if(flag), max(bytes), max(name)
FROM orc_types WHERE large > 0 OR day < DATE'1400-01-01' GROUP BY word;
SELECT id, more.y.z, more.y.w.q, get(list, 0), pairs['z'], more.x FROM orc_types WHERE more.x IS NOT NULL AND seen > TIMESTAMP'1582-10-10';
SELECT count(*) FROM orc_types;
SELECT day, word, count(*), sum(id), min(at), max(at), sum(big), max(more.right), count(more.gone) FROM orc_days GROUP BY day, word;
-- Most stripes are left out.
SELECT count(*), min(id), max(id), count(more), count(at) FROM orc_days WHERE id BETWEEN 8999 AND 9001 AND day = DATE'2024-01-02';
SELECT id, word, at, big, more FROM orc_days WHERE id IN (1, 7000, 20999) OR big < -1099000000000;
SELECT count(*) FROM orc_days WHERE word IS NULL;
