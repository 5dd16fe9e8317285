"""The file of an embedding: one safetensors file with a JSON header, written whole or not at all, checked when read.

    8 bytes   length of the safetensors header
    header    JSON; its metadata has one entry, "weyl": the text of our header, JSON again
    data      the tensor "points"

Our header begins with a digest of itself (with zeros in the digest's place) and of the points, so that a flipped bit
anywhere is found.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Hashable
from contextlib import suppress
from errno import EISDIR, ENOENT
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import torch
from torch import Tensor

FORMAT = 1  # raised when an older weyl could not read what is written
DTYPES = {torch.float32: "<f4", torch.float64: "<f8"}
LARGEST_HEADER = 99_000_000  # bytes; safetensors reads 100 MB


class FileProblem(ValueError):
    """A file that cannot be read as an embedding; the message is one line: which, why, and what to do."""


# ── files, whole or not at all ───────────────────────────────────────────────────────────────────────────────────────
def write_whole(path: str | os.PathLike, data: bytes) -> None:
    """Puts `data` into a file in one step: on any failure the file is as it was, or still not there."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(EISDIR, "is a folder; give a file name", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(ENOENT, f"there is no folder {target.parent}", str(path))
    if target.exists() and not target.is_file():  # a device or a pipe is written to, never replaced
        target.write_bytes(data)
        return
    part = target.with_name(f".weyl-{os.getpid()}-{get_ident()}.part")
    try:
        with open(part, "wb") as file:
            if target.exists():
                os.chmod(part, target.stat().st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:
        kept = "the file is as it was" if target.exists() else "no file was written"
        raise type(error)(error.errno, f"{error.strerror}; {kept}", str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink()
    with suppress(OSError):  # the name reaches the disk too, where folders can be synchronised
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# ── header and points ────────────────────────────────────────────────────────────────────────────────────────────────
def write(path: str | os.PathLike, header: dict[str, Any], nodes: list, points: Tensor) -> None:
    """Writes an embedding's header, node names and points (float32 or float64)."""
    from safetensors.torch import save

    points = points.detach().cpu().contiguous()
    record = {"sha256": "0" * 64, "format": FORMAT, **plain(header), "nodes": named(nodes)}
    text = json.dumps(record, allow_nan=False)
    text = text.replace("0" * 64, _digest(text, points), 1)
    if (size := len(json.dumps(text))) > LARGEST_HEADER:
        raise ValueError(f"{path}: the node names take {size:,} bytes, more than a file can hold")
    write_whole(path, save({"points": points}, {"weyl": text}))


def read(path: str | os.PathLike) -> tuple[dict[str, Any], list, Tensor]:
    """Header, node names and points of a file; FileProblem with the reason where it is no whole embedding of ours."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:  # a disk that fails while reading does not say which file
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    text, points = _parts(path, data)
    try:
        header = json.loads(text)
        written, digest = header["format"], header["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FileProblem(f"{path}: damaged: its header cannot be read") from None
    if isinstance(written, int) and written > FORMAT:
        raise FileProblem(
            f"{path}: written by a newer weyl (format {written}; this one reads up to {FORMAT}): update weyl"
        )
    if not isinstance(digest, str) or digest != _digest(text.replace(digest, "0" * 64, 1), points):
        raise FileProblem(f"{path}: damaged: its contents do not fit its digest")
    try:
        return header, unnamed(header.pop("nodes"), len(points)), points
    except (KeyError, TypeError, ValueError) as error:
        raise FileProblem(f"{path}: its node names cannot be read: {error}") from None


def _parts(path: str | os.PathLike, data: bytes) -> tuple[str, Tensor]:
    """The text of our header and the points, out of the bytes of a file."""
    from safetensors import SafetensorError, deserialize

    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or data[8:9] != b"{":
        raise FileProblem(f"{path}: {'an empty file' if not data else 'not a file written by weyl'}")
    if len(data) < 8 + size:
        raise FileProblem(f"{path}: damaged: it ends within its header")
    try:
        header = json.loads(data[8 : 8 + size])
        metadata = header.pop("__metadata__", None) or {}
        if max(one["data_offsets"][1] for one in header.values()) != len(data) - 8 - size:
            raise FileProblem(f"{path}: damaged: cut off or longer than it was")
        if not data[: 8 + size].rstrip(b" ").endswith(b"}"):
            raise ValueError
        tensors = dict(deserialize(data))
    except FileProblem:
        raise
    except (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise FileProblem(f"{path}: damaged: what it holds cannot be read") from None
    if "weyl" not in metadata:
        raise FileProblem(f"{path}: a safetensors file, but not an embedding written by weyl")
    points = tensors.get("points")
    if set(tensors) != {"points"} or points is None or points["dtype"] not in ("F32", "F64"):
        raise FileProblem(f"{path}: damaged: it does not hold points of 32 or 64 bits alone")
    dtype = {"F32": "<f4", "F64": "<f8"}[points["dtype"]]
    array = np.frombuffer(bytearray(points["data"]), dtype=dtype).reshape(points["shape"])
    return metadata["weyl"], torch.from_numpy(array.astype(dtype[1:], copy=False))


def _digest(text: str, points: Tensor) -> str:
    data = points.numpy().astype(DTYPES[points.dtype], copy=False)
    return hashlib.sha256(
        text.encode() + str((list(data.shape), data.dtype.str)).encode() + data.tobytes()
    ).hexdigest()


# ── node names ───────────────────────────────────────────────────────────────────────────────────────────────────────
def named(nodes: list) -> Any:
    """Node names as JSON: text and whole numbers as they are, the rest tagged, 0, 1, 2, … as their count."""
    if nodes and all(type(name) is int for name in nodes) and nodes == list(range(len(nodes))):
        return {"count": len(nodes)}
    return [_tagged(name) for name in nodes]


def unnamed(record: Any, count: int) -> list:
    """The names of `count` nodes that `named` has written."""
    found = record["count"] if isinstance(record, dict) else len(record)
    if found != count:
        raise ValueError(f"{found} names for {count} points")
    return list(range(count)) if isinstance(record, dict) else [_untagged(one) for one in record]


def _tagged(name: Hashable) -> Any:
    if type(name) is str and not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name):
        # JSON would join two halves of a character
        return {"text": name.encode("utf-8", "surrogatepass").hex()}
    if name is None or type(name) in (str, int, bool):
        return name
    if isinstance(name, np.generic):  # a name from an array: equal to Python's own
        return _tagged(name.item())
    if type(name) is float and math.isfinite(name):
        return {"float": name.hex()}
    if type(name) is bytes:
        return {"bytes": name.hex()}
    if type(name) is tuple:
        return {"tuple": [_tagged(part) for part in name]}
    if type(name) is frozenset:
        return {"frozenset": sorted((_tagged(part) for part in name), key=json.dumps)}
    kind = type(name).__name__
    raise ValueError(f"node {name!r} of type {kind} cannot be saved: use text, numbers or tuples of them")


def _untagged(record: Any) -> Hashable:
    if not isinstance(record, dict):
        if isinstance(record, list | float):
            raise ValueError("a name of an unknown kind")
        return record
    ((kind, value),) = record.items()
    if kind == "float":
        return float.fromhex(value)
    if kind in ("bytes", "text"):
        data = bytes.fromhex(value)
        return data if kind == "bytes" else data.decode("utf-8", "surrogatepass")
    if kind not in ("tuple", "frozenset"):
        raise ValueError(f"a name of the unknown kind {kind!r}")
    parts = [_untagged(part) for part in value]
    return tuple(parts) if kind == "tuple" else frozenset(parts)


def plain(value: Any) -> Any:
    """What JSON can hold of a value: NaN and infinities become null, unknown objects their text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, Tensor | np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)
