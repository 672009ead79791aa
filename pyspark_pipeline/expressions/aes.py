"""Encryption by AES (Spark: ExpressionImplUtils; Java: javax.crypto), by the package ``cryptography``.

A call costs 3 to 8 µs a value, or a distinct value if all other arguments are constants.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.per_value import arrow_values, java_text, map_distinct, python_values
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call, Literal

#: The extra of this package that installs the needed one.
_PACKAGES = {"aes": "cryptography"}
_BLOCK = 16
_IV_LENGTH = {"ECB": 0, "CBC": _BLOCK, "GCM": 12}
_PADDINGS = {"ECB": ("PKCS", "DEFAULT"), "CBC": ("PKCS", "DEFAULT"), "GCM": ("NONE", "DEFAULT")}


def encrypt(data: bytes, key: bytes, mode: str, padding: str, iv: bytes, aad: bytes) -> bytes:
    """Return the initialization vector, at random if ``iv`` is empty, and the encrypted bytes; raise Spark's error."""
    kind = _kind(key, mode, padding)
    length = _IV_LENGTH[kind]
    if not iv:
        iv = os.urandom(length)
    elif not length:
        raise conditions.aes_mode_without("AES_MODE_IV", mode)
    if len(iv) != length:
        raise conditions.aes_iv_length(mode, len(iv))
    if aad and kind != "GCM":
        raise conditions.aes_mode_without("AES_MODE_AAD", mode)
    if kind == "GCM":
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return iv + AESGCM(key).encrypt(iv, data, aad)
    missing = _BLOCK - len(data) % _BLOCK
    context = _cipher(kind, key, iv).encryptor()
    return iv + bytes(context.update(data + bytes([missing]) * missing) + context.finalize())


def decrypt(data: bytes, key: bytes, mode: str, padding: str, aad: bytes) -> bytes:
    """Return the decrypted bytes; raise Spark's error."""
    kind = _kind(key, mode, padding)
    length = _IV_LENGTH[kind]
    if len(data) < length:
        raise conditions.aes_crypto(_SHORT[kind])
    if aad and kind == "CBC":
        raise conditions.aes_mode_without("AES_MODE_AAD", mode)
    iv, data = data[:length], data[length:]
    if kind == "GCM":
        return _decrypt_authenticated(data, key, iv, aad)
    if not data:
        return b""
    if len(data) % _BLOCK:
        raise conditions.aes_crypto(f"Input length must be multiple of {_BLOCK} when decrypting with padded cipher")
    context = _cipher(kind, key, iv).decryptor()
    padded = bytes(context.update(data) + context.finalize())
    added = padded[-1]
    if not (1 <= added <= _BLOCK and padded.endswith(bytes([added]) * added)):
        raise conditions.aes_crypto(_WRONG_PADDING)
    return padded[:-added]


_SHORT = {"CBC": "IV buffer too short for given offset/length combination", "GCM": "Invalid buffer arguments"}
_WRONG_PADDING = (
    "Given final block not properly padded. Such issues can arise if a bad key is used during decryption."
)


def _decrypt_authenticated(data: bytes, key: bytes, iv: bytes, aad: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(iv, data, aad)
    except InvalidTag:
        raise conditions.not_authenticated(len(data)) from None


def _cipher(kind: str, key: bytes, iv: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CBC(iv) if kind == "CBC" else modes.ECB())


def _kind(key: bytes, mode: str, padding: str) -> str:
    """Return the mode in capitals; raise for a wrong key, mode or padding."""
    if len(key) not in (16, 24, 32):
        raise conditions.aes_key_length(len(key))
    kind, padding_kind = _capitals(mode), _capitals(padding)
    if padding_kind not in _PADDINGS.get(kind, ()):
        raise conditions.aes_mode(mode, padding)
    return kind


def _capitals(text: str) -> str:
    """Return letters as ``equalsIgnoreCase`` of Java compares them, with those that it takes as equal."""
    return text.translate(_LIKE_ASCII).upper()


#: The long s and the sign of Kelvin.
_LIKE_ASCII = str.maketrans("\u017f\u212a", "SK")


@function("ExpressionImplUtils.aesEncrypt", [
    case(["binary"], ["binary"], ["string"], ["string"], ["binary"], ["binary"],
         packages=_PACKAGES, slower=True),
])  # fmt: skip
def _aes_encrypt(call: Call, settings: ExpressionSettings) -> Kernel:
    iv = call.args[4]
    return _kernel(encrypt, is_random=not (isinstance(iv, Literal) and iv.value))


@function("ExpressionImplUtils.aesDecrypt", [
    case(["binary"], ["binary"], ["string"], ["string"], ["binary"], packages=_PACKAGES, slower=True),
])  # fmt: skip
def _aes_decrypt(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(decrypt, is_random=False)


def _kernel(compute: Callable[..., bytes], is_random: bool) -> Kernel:
    """Build a kernel that computes a value per row, or per distinct value beside constants if it is not random."""

    def run(values: Sequence[Value], rows: int) -> Value:
        first, *others = values
        if not is_random and all(isinstance(value, pa.Scalar) for value in others):
            constants = [_objects(pa.repeat(value, 1))[0] for value in others]
            return map_distinct(to_array(first, rows), lambda data: compute(data, *constants), pa.binary())
        columns = (_objects(to_array(value, rows)) for value in values)
        found = [None if None in row else compute(*row) for row in zip(*columns, strict=True)]
        return arrow_values(found, pa.binary())

    return Kernel(run=run, can_raise=True)


def _objects(array: pa.Array) -> list[Any]:
    return python_values(java_text(array) if pa.types.is_string(array.type) else array)
