"""What the name of a launched kernel says of its operator: the element type of lists of tensors."""

from __future__ import annotations

import re

from rocm_perf.model.dtypes import TORCH_TYPES

_OPAQUE = re.compile(r"OpaqueType<(\d+)u?>|OpaqueTypeILj(\d+)E")
_LISTS = re.compile(r"multi_tensor_apply|CatArrayBatchedCopy|FusedAdam|FusedSgd|fused_adam|fused_sgd")
_TYPE = re.compile(r"<\s*(c10::\w+|float|double|int|long|bool|signed char|unsigned char)\b\s*[,>]")


def list_element_bytes(kernel: str | None) -> int | None:
    """The size of an element of the tensors in the lists that a kernel works on; None where its name does not say."""
    if kernel is None or not _LISTS.search(kernel):
        return None
    opaque = _OPAQUE.search(kernel)
    if opaque:
        return int(opaque[1] or opaque[2])
    named = [TORCH_TYPES[name][1] for name in _TYPE.findall(kernel) if name in TORCH_TYPES]
    return named[0] if named else None
