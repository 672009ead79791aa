-- Row-group pruning by statistics must never lose a row: sorted columns, NULL and NaN groups, ±0, long strings.
-- tables: pruned
-- matrix: ansi=true
-- oracle: spark.sql.parquet.filterPushdown=false

SELECT count(*) FROM pruned WHERE id = 555;
SELECT id FROM pruned WHERE id >= 599 AND id < 602;
SELECT id FROM pruned WHERE i > 495 AND i < 605;
SELECT count(*) FROM pruned WHERE i IS NULL;
SELECT count(*) FROM pruned WHERE i IS NOT NULL;
SELECT id FROM pruned WHERE i <=> NULL AND id < 505;
SELECT count(*) FROM pruned WHERE d > 1100;
SELECT count(*) FROM pruned WHERE d = double('NaN');
SELECT count(*) FROM pruned WHERE d > double('Infinity');
SELECT count(*) FROM pruned WHERE d < 301;
SELECT count(*) FROM pruned WHERE zero = 0.0D;
SELECT count(*) FROM pruned WHERE zero >= 0.0D;
SELECT count(*) FROM pruned WHERE zero <= -0.0D;
SELECT id FROM pruned WHERE s = 'key-00777';
SELECT id FROM pruned WHERE s > 'key-01195' OR s <= 'key-00002';
SELECT id FROM pruned WHERE s LIKE 'key-0010%';
SELECT id FROM pruned WHERE u = concat('prefix-', repeat('é', 40), '-00900');
SELECT id FROM pruned WHERE u > concat('prefix-', repeat('é', 40), '-01197');
SELECT id FROM pruned WHERE n = -600;
SELECT id FROM pruned WHERE n BETWEEN -1.5 AND 1.50;
SELECT id FROM pruned WHERE dt IN (DATE'1970-01-01', DATE'1969-12-31', DATE'2100-01-01');
SELECT id FROM pruned WHERE dt < DATE'1968-05-12';
SELECT id FROM pruned WHERE ts >= TIMESTAMP'1970-01-25 21:00:00';
SELECT count(*) FROM pruned WHERE b;
SELECT count(*) FROM pruned WHERE NOT b AND id > 500;
SELECT id FROM pruned WHERE bin = X'0401';
SELECT id FROM pruned WHERE id IN (0, 99, 100, 101, 199, 1199, 5000, -1, 300, 301, 302, 303);
SELECT count(*) FROM pruned WHERE id NOT IN (0, 1, 2);
SELECT count(*) FROM pruned WHERE id <> 5;
SELECT count(*) FROM pruned WHERE id > 5000;
