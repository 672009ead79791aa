-- Digests, digits and bits.
-- tables: texts, numbers
-- matrix: ansi=true,false

SELECT id, md5(bin) AS a, sha1(bin) AS b, sha2(bin, 256) AS c, sha2(bin, 0) AS d, sha2(bin, 224) AS e, sha2(bin, 384) AS f, sha2(bin, 512) AS g, crc32(bin) AS h FROM texts;
SELECT id, md5(s) AS a, sha(s) AS b, sha2(s, 256) AS c, crc32(s) AS d, md5(flag) AS e FROM texts;
SELECT id, md5(repeat(s, 20)) AS a, sha1(repeat(s, 21)) AS b, sha2(repeat(s, 19), 256) AS c, sha2(repeat(s, 33), 224) AS d, md5(rpad('x', CAST(id AS int) + 40, 'yz')) AS e, sha2(rpad('x', CAST(id AS int) + 40, 'yz'), 256) AS f, sha1(rpad('x', CAST(id AS int) + 100, 'yz')) AS g FROM texts;
SELECT id, hex(bin) AS a, hex(s) AS b, hex(flag) AS c, base64(bin) AS d, base64(s) AS e, base64(repeat(s, 40)) AS f FROM texts;
SELECT id, hex(l) AS a, hex(i) AS b, bin(l) AS c, bin(t) AS d FROM numbers;
SELECT id, unhex(hex(bin)) AS a, unhex(s) AS b, unhex('f' || hex(bin)) AS c, unhex(flag) AS d FROM texts;
SELECT id, bit_count(t) AS a, bit_count(s) AS b, bit_count(i) AS c, bit_count(l) AS d FROM numbers;
SELECT id, getbit(t, 7) AS a, bit_get(s, 15) AS b, bit_get(i, 0) AS c, bit_get(l, 63) AS d, bit_get(l, 5) AS e FROM numbers;
-- expect: any
SELECT id, sha2(bin, 100) AS a, bit_count(b) AS b FROM texts JOIN numbers USING (id);
SELECT md5(s) AS k, count(*) FROM texts GROUP BY 1;
