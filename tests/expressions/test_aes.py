"""AES: known answers of FIPS 197 and of NIST's example of GCM, and keys, modes and paddings that raise."""

from __future__ import annotations

import pytest

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions.aes import decrypt, encrypt

pytest.importorskip("cryptography")

_KEY = bytes(range(16))
_DATA = bytes.fromhex("00112233445566778899aabbccddeeff")


def test_known_answers() -> None:
    assert encrypt(_DATA, _KEY, "ecb", "Pkcs", b"", b"")[:16].hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    found = encrypt(bytes(16), bytes(16), "GCM", "NONE", bytes(12), b"")
    assert found[12:].hex() == "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"


@pytest.mark.parametrize("mode", ["ECB", "CBC", "GCM"])
@pytest.mark.parametrize("size", [16, 24, 32])
def test_decrypts_what_was_encrypted(mode: str, size: int) -> None:
    for length in (0, 1, 15, 16, 17, 1000):
        data = bytes(length % 251 for _ in range(length))
        aad = b"aad" if mode == "GCM" else b""
        found = encrypt(data, bytes(size), mode, "DEFAULT", b"", aad)
        assert decrypt(found, bytes(size), mode, "DEFAULT", aad) == data
        assert mode == "ECB" or found != encrypt(data, bytes(size), mode, "DEFAULT", b"", aad)


def test_no_bytes_decrypt_to_none() -> None:
    assert decrypt(b"", _KEY, "ECB", "PKCS", b"") == b""
    assert decrypt(bytes(16), _KEY, "CBC", "PKCS", b"") == b""


@pytest.mark.parametrize(
    ("data", "key", "mode", "padding", "condition"),
    [
        (b"", b"k", "x", "y", "INVALID_PARAMETER_VALUE.AES_KEY_LENGTH"),
        (b"", _KEY, "x", "y", "UNSUPPORTED_FEATURE.AES_MODE"),
        (b"", _KEY, "GCM", "PKCS", "UNSUPPORTED_FEATURE.AES_MODE"),
        (b"x", _KEY, "ECB", "PKCS", "INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR"),
        (bytes(16), _KEY, "ECB", "PKCS", "INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR"),
        (bytes(15), _KEY, "CBC", "PKCS", "INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR"),
        (bytes(11), _KEY, "GCM", "NONE", "INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR"),
        (bytes(12), _KEY, "GCM", "NONE", ""),
        (bytes(60), _KEY, "GCM", "NONE", ""),
    ],
)
def test_raises(data: bytes, key: bytes, mode: str, padding: str, condition: str) -> None:
    with pytest.raises(SparkConditionError) as raised:
        decrypt(data, key, mode, padding, b"")
    assert raised.value.condition == condition
