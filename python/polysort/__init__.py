"""One stable sort for every key, on the CPU and on GPUs, for NumPy arrays.

>>> import numpy as np, polysort
>>> polysort.sort(np.array([2.5, -0.0, np.nan, 0.0, -7.25], dtype="f4"))
array([-7.25, -0.  ,  0.  ,  2.5 ,   nan], dtype=float32)
>>> polysort.argsort([30, 10, 20])
array([1, 2, 0], dtype=uint32)

Keys are one-dimensional arrays of bool, of integers of 8 to 64 bits, and of floats of 16, 32 and 64 bits. An array of
another type is a TypeError, and one of another number of dimensions a ValueError. Arrays that are not contiguous, not aligned,
or not in the byte order of the machine are copied first. Results are new arrays in the byte order of the machine, or are
written to ``out``.

All sorts are stable, in both directions. Floats are in total order:
-NaN < -inf < ... < -0.0 < 0.0 < ... < inf < NaN. NumPy differs in two points: it sorts NaNs of both signs last,
and takes -0.0 and 0.0 as equal. Every NaN keeps its sign and its payload.

The argument ``backend`` is "cpu", which sorts on all cores, "gpu", which sorts on a GPU if the package was built with GPUs,
or "auto", which takes the faster one of them. The result is the same, bit for bit. The environment variable
RAYON_NUM_THREADS limits the threads of the CPU, except in a process that was forked after the first call.
While a function sorts, other threads of Python run; they must not write to its arrays.

On an error all arrays stay as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _polysort
from ._polysort import backends, describe

__all__ = ["Backend", "argsort", "backends", "describe", "merge", "sort", "sort_pairs", "sort_segments", "top_k"]

Backend = Literal["auto", "cpu", "gpu"]

_Array = npt.NDArray[Any]

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}


def sort(
    keys: npt.ArrayLike, *, descending: bool = False, out: _Array | None = None, backend: Backend = "auto"
) -> _Array:
    """Returns the sorted keys.

    keys: a one-dimensional array of numbers or of bool. It stays as it is, unless it is ``out``.
    descending: sorts the largest key first.
    out: an array of the same length and type, which gets the sorted keys and is returned. ``sort(a, out=a)`` sorts in place.
    backend: "auto", "cpu" or "gpu".

    >>> polysort.sort([3, 1, 2], descending=True)
    array([3, 2, 1])
    """
    native = _keys(keys)
    if out is None:
        result = np.empty(len(native), native.dtype)
        _polysort.sort_into(_words(native), _words(result), descending, backend)
        return result
    _check_out("out", out, native)
    if not _is_plain(out) or _overlaps_in_part(native, out):
        out[...] = sort(native, descending=descending, backend=backend)
    elif _is_same_memory(native, out):
        _polysort.sort(_words(out), descending, backend)
    else:
        _polysort.sort_into(_words(native), _words(out), descending, backend)
    return out


def argsort(keys: npt.ArrayLike, *, descending: bool = False, backend: Backend = "auto") -> npt.NDArray[np.uint32]:
    """Returns the indices that sort the keys, as uint32: ``keys[argsort(keys)]`` is sorted. Equal keys keep their order.

    keys: a one-dimensional array of numbers or of bool, of at most 2**32 keys.
    descending: puts the index of the largest key first. Equal keys still keep their order.
    backend: "auto", "cpu" or "gpu".

    >>> polysort.argsort([2, 1, 2, 1])
    array([1, 3, 0, 2], dtype=uint32)
    """
    return _polysort.argsort(_words(_keys(keys)), descending, backend)


def sort_pairs(
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    descending: bool = False,
    out: tuple[_Array, _Array] | None = None,
    backend: Backend = "auto",
) -> tuple[_Array, _Array]:
    """Returns the sorted keys, and the values in the order of their keys.

    keys: a one-dimensional array of numbers or of bool.
    values: a one-dimensional array of the same length, of any type.
    descending: sorts the largest key first.
    out: two arrays, which get the sorted keys and the moved values and are returned. ``out=(keys, values)`` sorts in place.
    backend: "auto", "cpu" or "gpu".

    >>> polysort.sort_pairs([3, 1, 2], ["three", "one", "two"])
    (array([1, 2, 3]), array(['one', 'two', 'three'], dtype='<U5'))
    """
    native = _keys(keys)
    moved = _one_dimensional("values", values)
    if len(native) != len(moved):
        raise ValueError(f"keys and values differ in length: {len(native)} and {len(moved)}")
    if out is not None:
        keys_out, values_out = out
        _check_out("out[0]", keys_out, native)
        _check_out("out[1]", values_out, moved)
        if np.may_share_memory(keys_out, values_out):
            raise ValueError("out[0] and out[1] share memory")

    if moved.dtype.hasobject or moved.dtype.itemsize not in _WORDS:
        # The values are no machine words: their order moves them.
        order = argsort(native, descending=descending, backend=backend)
        sorted_keys, sorted_values = native[order], moved[order]
    else:
        in_place = out is not None and _is_plain(keys_out) and _is_plain(values_out)
        in_place = in_place and _is_same_memory(native, keys_out) and _is_same_memory(moved, values_out)
        sorted_keys = keys_out if in_place else native.copy()
        # Bytes are moved as they are, whatever their order.
        sorted_values = values_out if in_place else np.require(moved, requirements=["C", "A"]).copy()
        words = sorted_values.view(_WORDS[moved.dtype.itemsize])
        _polysort.sort_pairs(_words(sorted_keys), words, moved.dtype.itemsize == 16, descending, backend)
        if in_place:
            return keys_out, values_out
    if out is None:
        return sorted_keys, sorted_values
    keys_out[...], values_out[...] = sorted_keys, sorted_values
    return keys_out, values_out


def top_k(
    keys: npt.ArrayLike, k: int, *, largest: bool = True, backend: Backend = "auto"
) -> tuple[_Array, npt.NDArray[np.uint32]]:
    """Returns the k largest keys, largest first, and their indices. Of equal keys, that with the lowest index comes first.

    keys: a one-dimensional array of numbers or of bool.
    k: the number of keys, at least 0. If there are fewer keys, all of them are returned.
    largest: False returns the k smallest keys, smallest first.
    backend: "auto", "cpu" or "gpu".

    In total order a NaN with a clear sign is larger than infinity.

    >>> polysort.top_k([5, -2, 9, 9], 3)
    (array([9, 9, 5]), array([2, 3, 0], dtype=uint32))
    """
    native = _keys(keys)
    if k < 0:
        raise ValueError(f"k is {k}, and must be at least 0")
    found, indices = _polysort.top_k(_words(native), min(int(k), len(native)), largest, backend)
    return found.view(native.dtype), indices


def sort_segments(
    keys: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    descending: bool = False,
    out: _Array | None = None,
    backend: Backend = "auto",
) -> _Array:
    """Returns the keys, with each segment sorted by itself.

    keys: a one-dimensional array of numbers or of bool.
    offsets: ascending integers, one more than there are segments. Segment i is ``keys[offsets[i]:offsets[i + 1]]``. Keys before
        the first offset and behind the last one stay where they are.
    descending: sorts the largest key of each segment first.
    out: an array of the same length and type, which gets the result and is returned. It can be ``keys``.
    backend: "auto", "cpu" or "gpu".

    >>> polysort.sort_segments([3, 1, 2, 9, 8, 5], [0, 3, 5, 6])
    array([1, 2, 3, 8, 9, 5])
    """
    native = _keys(keys)
    starts = _one_dimensional("offsets", offsets)
    if len(starts) and starts.dtype.kind not in "iu":
        raise TypeError(f"offsets are integers, not {starts.dtype}")
    if len(starts) and starts.min() < 0:
        raise ValueError(f"an offset is {starts.min()}, and must be at least 0")
    if out is not None:
        _check_out("out", out, native)
    in_place = out is not None and _is_plain(out) and _is_same_memory(native, out)
    result = native if in_place else native.copy()
    words = np.ascontiguousarray(starts, dtype=np.uint64)
    _polysort.sort_segments(_words(result), words, descending, backend)
    if out is None:
        return result
    if not in_place:
        out[...] = result
    return out


def merge(runs: Sequence[npt.ArrayLike], *, descending: bool = False, out: _Array | None = None) -> _Array:
    """Returns the keys of sorted runs, merged into one sorted array, on the CPU. Of equal keys, those of an earlier run come first.

    runs: one-dimensional arrays of one type, each of them sorted. A run that is not sorted is a ValueError.
    descending: the runs are, and the result is, in descending order.
    out: an array of that type and as long as all runs together, which gets the result and is returned. It shares no memory with a run.

    >>> polysort.merge([[1, 4], [2, 3, 9]])
    array([1, 2, 3, 4, 9])
    """
    natives = [_keys(run, f"runs[{at}]") for at, run in enumerate(runs)]
    if not natives:
        raise ValueError("there are no runs, so their type is unknown")
    for at, run in enumerate(natives):
        if run.dtype != natives[0].dtype:
            raise TypeError(f"runs have one type, but runs[0] has {natives[0].dtype} and runs[{at}] has {run.dtype}")
    length = sum(map(len, natives))
    if out is None:
        result = np.empty(length, natives[0].dtype)
        _polysort.merge_into([_words(run) for run in natives], _words(result), descending)
        return result
    _check_out("out", out, natives[0], length)
    if any(np.may_share_memory(run, out) for run in natives):
        raise ValueError("out shares memory with a run")
    if _is_plain(out):
        _polysort.merge_into([_words(run) for run in natives], _words(out), descending)
    else:
        out[...] = merge(natives, descending=descending)
    return out


def _one_dimensional(name: str, array: npt.ArrayLike) -> _Array:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass its data, or fill it first")
    result = np.asarray(array)
    if result.ndim != 1:
        raise ValueError(f"{name} has {result.ndim} dimensions, and must have one: flatten it with ravel()")
    return result


def _keys(keys: npt.ArrayLike, name: str = "keys") -> _Array:
    """The keys as an array that the native module takes: contiguous, aligned and in the byte order of the machine."""
    array = _one_dimensional(name, keys)
    dtype = array.dtype
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        hint = "; sort its view as int64, in which NaT comes first" if dtype.kind in "mM" else ""
        raise TypeError(f"{name} of type {dtype} cannot be sorted: there are bool, int8 to int64, uint8 to uint64, float16 to float64{hint}")
    return np.require(array, dtype.newbyteorder("="), ["C", "A"])


def _words(array: _Array) -> _Array:
    """The array; of bool, its bytes."""
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def _is_plain(array: _Array) -> bool:
    """Whether the native module can write to an array."""
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


def _is_same_memory(a: _Array, b: _Array) -> bool:
    return a.__array_interface__["data"][0] == b.__array_interface__["data"][0] and a.strides == b.strides and len(a) == len(b)


def _overlaps_in_part(a: _Array, b: _Array) -> bool:
    return np.may_share_memory(a, b) and not _is_same_memory(a, b)


def _check_out(name: str, out: object, like: _Array, length: int | None = None) -> None:
    """Raises unless results of the type of ``like`` can be written to ``out``."""
    length = len(like) if length is None else length
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"{name} is {type(out).__name__}, and must be an array of NumPy")
    if out.dtype.newbyteorder("=") != like.dtype.newbyteorder("="):
        raise TypeError(f"{name} has type {out.dtype}, and must have {like.dtype}")
    if out.shape != (length,):
        raise ValueError(f"{name} has the shape {out.shape}, and must have ({length},)")
    if not out.flags.writeable:
        raise ValueError(f"{name} is read-only")
