"""What the vector unit spends its lanes on: floating-point numbers, integers, or neither."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from rocm_perf.arch.codeobject.flops import flops_of

LaneKind = Literal["float", "integer", "other"]

_PREFIX = r"v_(?:dual_)?(?:pk_)?"
_FLOAT = re.compile(
    _PREFIX
    + r"(?:min|max|med3|minimum|maximum|fract|floor|ceil|trunc|rndne|ldexp|div_|frexp|cmpx?_)\w*_b?f\d\d"
)
_INTEGER = re.compile(
    _PREFIX
    + r"(?:add|sub|mul|mad|lshl|lshr|ashr|and|or|xor|xad|not|bfe|bfi|bfm|min|max|med3|sad|alignb|perm|cmpx?|mbcnt)"
)


@lru_cache(maxsize=8192)
def lane_kind(text: str) -> LaneKind:
    """What an instruction of the vector unit computes; moves, selections and conversions are neither."""
    name = text.split(None, 1)[0]
    if flops_of(text) or _FLOAT.match(name):
        return "float"
    return "integer" if _INTEGER.match(name) else "other"
