-- Encryption by AES: modes, paddings, keys of three lengths, initialization vectors, authenticated data, errors.
-- tables: texts
-- errors: exact

-- Without an initialization vector the result is random, but for ECB: its length and what it decrypts to are compared.
SELECT id, length(aes_encrypt(s, repeat('k', 16))) AS a, CAST(aes_decrypt(aes_encrypt(s, repeat('k', 16)), repeat('k', 16)) AS string) AS b, hex(aes_encrypt(s, repeat('k', 24), 'ECB')) AS c, aes_decrypt(aes_encrypt(s, repeat('k', 24), 'ecb', 'Pkcs'), repeat('k', 24), 'ECB', 'DEFAULT') AS d, length(aes_encrypt(bin, repeat('k', 32), 'CBC')) AS e, aes_decrypt(aes_encrypt(bin, repeat('k', 32), 'cbc'), repeat('k', 32), 'CBC', 'PKCS') AS f FROM texts;
SELECT count(DISTINCT aes_encrypt('a', concat('0123456789abcde', id % 2))) > 5 AS a FROM texts;
SELECT id, aes_encrypt(bin, unhex(repeat('0f', 16)), 'GCM', 'DEFAULT', unhex(repeat('01', 12))) AS a, aes_encrypt(bin, unhex(repeat('0f', 24)), 'Gcm', 'none', unhex(repeat('01', 12)), 'aad') AS b, aes_encrypt(s, unhex(repeat('0f', 32)), 'CBC', 'DEFAULT', unhex(repeat('01', 16))) AS c, aes_encrypt(s, unhex(repeat('0f', 16)), 'CBC', 'PKCS', unhex(repeat('01', 16)), '') AS d, aes_encrypt(s, unhex(repeat('0f', 16)), 'ECB', 'PKCS', '', '') AS e, aes_decrypt(aes_encrypt(s, unhex(repeat('0f', 16)), 'GCM', 'DEFAULT', '', s2), unhex(repeat('0f', 16)), 'GCM', 'NONE', s2) AS f FROM texts;
-- All arguments are columns.
SELECT id, aes_encrypt(s, k, m, p, iv, aad) AS a, aes_decrypt(aes_encrypt(s, k, m, p, iv, aad), k, m, p, aad) AS b, length(aes_encrypt('abc', k, m)) AS c, aes_encrypt('abc', k, 'ECB') AS d FROM (SELECT id, s, CASE id % 4 WHEN 0 THEN repeat('x', 16) WHEN 1 THEN repeat('x', 24) WHEN 2 THEN repeat('x', 32) END AS k, CASE id % 3 WHEN 0 THEN 'ECB' WHEN 1 THEN 'cbc' ELSE 'Gcm' END AS m, CASE id % 3 WHEN 0 THEN 'pkcs' WHEN 1 THEN 'DEFAULT' ELSE if(id % 2 = 0, 'NONE', 'default') END AS p, CASE id % 3 WHEN 0 THEN '' WHEN 1 THEN repeat('i', 16) ELSE if(id % 5 = 0, NULL, repeat('i', 12)) END AS iv, CASE id % 3 WHEN 2 THEN s2 ELSE '' END AS aad, s2 FROM texts) WHERE m = 'ECB' OR iv IS NOT NULL AND id % 3 > 0;
SELECT id, aes_decrypt(x, repeat('k', 16), 'ECB') AS a FROM (SELECT id, if(id % 3 = 0, X'', NULL) AS x FROM texts);
SELECT id, aes_encrypt(s, CAST(NULL AS binary)) AS a, aes_encrypt(s, repeat('k', 16), NULL) AS b, aes_decrypt(bin, 'k', 'x', CAST(NULL AS string)) AS c, aes_encrypt(s, if(id < 0, 'k', NULL), 'x') AS d FROM texts;
-- Letters that Java takes as equal to K and S.
SELECT id, hex(aes_encrypt(s, repeat('k', 16), 'ECB', 'P\u212ac\u017f')) AS a FROM texts;
-- Errors as NULL.
SELECT id, try_aes_decrypt(bin, repeat('k', 16)) AS a, try_aes_decrypt(s, repeat('k', 16), 'CBC') AS b, try_aes_decrypt(aes_encrypt(s, repeat('k', 16), 'ECB'), if(id % 2 = 0, repeat('k', 16), 'k'), 'ECB') AS c, try_aes_decrypt(X'00', 'k', s) AS d, try_aes_decrypt(aes_encrypt(s, repeat('k', 16), 'GCM', 'DEFAULT', '', 'aad'), repeat('k', 16), 'GCM', 'DEFAULT', if(id % 2 = 0, 'aad', 'add')) AS e FROM texts;
-- Wrong padding, which some wrong keys do not show.
SELECT id, try_aes_decrypt(aes_encrypt(CAST(n.id AS string), repeat('k', 16), 'ECB'), repeat('l', 16), 'ECB') AS a, try_aes_decrypt(unhex(lpad(hex(n.id), 64, '0')), repeat('l', 24), 'CBC') AS b FROM range(4000) AS n;
-- expect: error INVALID_PARAMETER_VALUE.AES_KEY_LENGTH
SELECT aes_encrypt(s, concat('k', id % 2), 'x') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_KEY_LENGTH
SELECT aes_decrypt(bin, '', 'x') AS a FROM texts WHERE id = 3;
-- expect: error UNSUPPORTED_FEATURE.AES_MODE
SELECT aes_encrypt(s, repeat('k', 16), 'CTR', 'ä') AS a FROM texts WHERE id = 3;
-- expect: error UNSUPPORTED_FEATURE.AES_MODE
SELECT aes_decrypt(s, repeat('k', 16), 'GCM', 'PKCS') AS a FROM texts WHERE id = 3;
-- expect: error UNSUPPORTED_FEATURE.AES_MODE
SELECT aes_encrypt(s, repeat('k', 16), 'ECB', 'NONE', 'x') AS a FROM texts WHERE id = 3;
-- expect: error UNSUPPORTED_FEATURE.AES_MODE_IV
SELECT aes_encrypt(s, repeat('k', 16), 'Ecb', 'PKCS', 'x', 'y') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_IV_LENGTH
SELECT aes_encrypt(s, repeat('k', 16), 'cbc', 'PKCS', 'x', 'y') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_IV_LENGTH
SELECT aes_encrypt(s, repeat('k', 16), 'GCM', 'NONE', repeat('x', 16)) AS a FROM texts WHERE id = 3;
-- expect: error UNSUPPORTED_FEATURE.AES_MODE_AAD
SELECT aes_encrypt(s, repeat('k', 16), 'CBC', 'PKCS', '', 'y') AS a FROM texts WHERE id = 3;
-- expect: error UNSUPPORTED_FEATURE.AES_MODE_AAD
SELECT aes_decrypt(repeat('x', 16), repeat('k', 16), 'CBC', 'PKCS', substring('yyyy', id)) AS a FROM texts WHERE id = 3;
SELECT aes_decrypt(aes_encrypt(s, repeat('k', 16), 'ECB'), repeat('k', 16), 'ECB', 'PKCS', 'y') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(substring('abc', id), repeat('k', 16), 'CBC', 'PKCS', 'y') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(substring('abc', id), repeat('k', 16)) AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
-- expect[java=17]: error
SELECT aes_decrypt(repeat('x', 9 + id), repeat('k', 16)) AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
-- expect[java=17]: error
SELECT aes_decrypt(repeat('x', 24 + id), repeat('k', 16)) AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(repeat('x', 25 + id), repeat('k', 16)) AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(repeat('x', 250 + id), repeat('k', 16), 'GCM', 'DEFAULT', 'aad') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(repeat('x', 14 + id), repeat('k', 16), 'CBC') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(repeat('x', 29 + id), repeat('k', 16), 'CBC') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(repeat('x', 12 + id), repeat('k', 16), 'ECB') AS a FROM texts WHERE id = 3;
-- expect: error INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR
SELECT aes_decrypt(repeat('x', 13 + id), repeat('k', 16), 'ECB') AS a FROM texts WHERE id = 3;
