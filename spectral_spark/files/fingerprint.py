"""A short name for data that changes whenever the data does."""

import hashlib

import numpy as np


def fingerprint(*parts: bytes | str | np.ndarray) -> str:
    """SHA-256 over the parts, each with its type, shape and length."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                raise TypeError("arrays of objects have no stable bytes; fingerprint their text instead")
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
        else:
            data = part.encode() if isinstance(part, str) else part
            digest.update(f"{type(part).__name__}{len(data)}:".encode())
            digest.update(data)
    return digest.hexdigest()
