"""Between live objects and plain values, beside the judged code. numpy and torch are imported only where a value is
theirs."""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module
from typing import Any

from rocm_perf.bench.judge.values import ITEM_BYTES, Array, Layout, Library, UnsupportedValueError, Value

_SCALARS = frozenset((type(None), bool, int, float, complex, str, bytes))
_ROOMIEST = 4  # a view may span so many times its own elements before its strides are given up


def plain(value: object, *, lenient: bool = False) -> Value:
    """The object as plain data, copied. Only arrays, numbers, texts and their containers are data: an object that
    would compute its values when asked is not a result yet, and is refused unless `lenient`."""
    if type(value) in _SCALARS:
        return value  # type: ignore[return-value]
    if isinstance(value, list):
        return _plain_items([*list.__iter__(value)], lenient)
    if isinstance(value, tuple):
        return tuple(_plain_items([*tuple.__iter__(value)], lenient))
    if isinstance(value, dict):
        return {plain(key): plain(item, lenient=lenient) for key, item in dict.items(value)}  # type: ignore[misc]
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and _is_tensor(value, torch, lenient=lenient):
        return _from_torch(value)
    if numpy is not None and (type(value) is numpy.ndarray or isinstance(value, numpy.generic)):
        return _from_numpy(numpy.asarray(value))
    if lenient and hasattr(value, "__array__"):
        return _from_numpy(import_module("numpy").asarray(value))
    kind = type(value)
    raise UnsupportedValueError(
        f"a {kind.__module__}.{kind.__qualname__} is neither an array, a number, a text, nor a container of them"
    )


def _plain_items(items: list[Any], lenient: bool) -> list[Value]:
    return (
        items if _SCALARS.issuperset(map(type, items)) else [plain(item, lenient=lenient) for item in items]
    )


def _is_tensor(value: object, torch: Any, *, lenient: bool) -> bool:
    return isinstance(value, torch.Tensor) and (lenient or type(value) in (torch.Tensor, torch.nn.Parameter))


def live(value: Value, previous: object = None) -> Any:
    """The objects that a value stands for, written into the arrays of `previous` where those have the same layout."""
    if isinstance(value, Array):
        buffer = previous if layout_of(previous) == value.layout else _buffer(value.layout)
        _fill(buffer, value)
        return buffer
    if isinstance(value, dict):
        known = previous if isinstance(previous, dict) else {}
        return {key: live(item, known.get(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if _SCALARS.issuperset(map(type, value)):
            return list(value) if isinstance(value, list) else tuple(value)
        before = list(previous) if isinstance(previous, (list, tuple)) else []
        before += [None] * (len(value) - len(before))
        items = [live(item, other) for item, other in zip(value, before, strict=False)]
        return items if isinstance(value, list) else tuple(items)
    return value


def layout_of(value: object) -> Layout | None:
    """The layout of an array; None of anything else."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        dtype = str(value.dtype).partition(".")[2]
        return _layout("torch", dtype, value.shape, value.stride(), str(value.device))
    if numpy is not None and isinstance(value, numpy.ndarray):
        strides = (stride // (value.itemsize or 1) for stride in value.strides)
        return _layout("numpy", value.dtype.name, value.shape, strides, "cpu")
    return None


def _layout(library: Library, dtype: str, shape: Any, strides: Any, device: str) -> Layout:
    return Layout(
        library=library, dtype=dtype, shape=tuple(shape), strides=tuple(map(int, strides)), device=device
    )


def _from_numpy(value: Any) -> Array:
    layout = layout_of(value)
    assert layout is not None
    if layout.dtype not in ITEM_BYTES:
        raise UnsupportedValueError(f"a numpy array of {value.dtype} cannot be compared")
    native = value.astype(value.dtype.newbyteorder("="), copy=False)
    return Array(layout, native.tobytes())


def _from_torch(value: Any) -> Array:
    torch = import_module("torch")
    if value.layout is not torch.strided or value.is_quantized or value.is_meta:
        raise UnsupportedValueError(f"a torch tensor of layout {value.layout} cannot be compared")
    layout = layout_of(value)
    assert layout is not None
    if layout.dtype not in ITEM_BYTES:
        raise UnsupportedValueError(f"a torch tensor of {value.dtype} cannot be compared")
    here = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return Array(layout, ctypes.string_at(here.data_ptr(), layout.size_bytes) if layout.count else b"")


def _buffer(layout: Layout) -> Any:
    """An array with the layout and any contents; row-major where its strides run backwards or leave wide holes."""
    pairs = list(zip(layout.shape, layout.strides, strict=True))
    span = 1 + sum((size - 1) * stride for size, stride in pairs) if layout.count else 0
    is_plain = any(stride < 0 for _, stride in pairs) or span > _ROOMIEST * layout.count
    if layout.library == "torch":
        torch = import_module("torch")
        dtype = getattr(torch, layout.dtype)
        if is_plain:
            return torch.empty(layout.shape, dtype=dtype, device=layout.device)
        return torch.empty_strided(layout.shape, layout.strides, dtype=dtype, device=layout.device)
    numpy = import_module("numpy")
    if is_plain or not layout.count:
        return numpy.empty(layout.shape, layout.dtype)
    storage = numpy.empty(span, layout.dtype)
    strides = [stride * storage.itemsize for stride in layout.strides]
    return numpy.lib.stride_tricks.as_strided(storage, layout.shape, strides)


def _fill(buffer: Any, value: Array) -> None:
    layout = value.layout
    if not layout.count:
        return
    if layout.library == "numpy":
        numpy = import_module("numpy")
        buffer[...] = numpy.frombuffer(value.data, layout.dtype).reshape(layout.shape)
        return
    torch = import_module("torch")
    source = torch.frombuffer(bytearray(value.data), dtype=buffer.dtype).reshape(layout.shape)
    for axis, stride in enumerate(buffer.stride()):
        if stride == 0:  # an expanded axis is one element in memory
            buffer, source = buffer.narrow(axis, 0, 1), source.narrow(axis, 0, 1)
    with torch.no_grad():
        buffer.copy_(source)
