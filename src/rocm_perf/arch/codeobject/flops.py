"""How many floating-point operations one execution of an AMD instruction performs: multiply and add count one each, as
do the approximations of the transcendental unit. That is how the hardware counters add up (docs/roofline.md)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from rocm_perf.arch.codeobject.instructions import class_of, matrix_work

_ENCODING = re.compile(r"_(e32|e64|dpp8?|sdwa|e64_dpp8?)$")
_TYPE = r"(?P<type>f64|f32|f16|bf16)"
_RULES: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), flops)
    for pattern, flops in (
        (rf"v_(add|sub|subrev|mul)(_legacy|_dx9_zero)?_{_TYPE}$", 1),
        (rf"v_(fma|fmac|mad|mac)(_legacy|_dx9_zero)?_{_TYPE}$", 2),
        (rf"v_(fmaak|fmamk|madak|madmk|div_fmas)_{_TYPE}$", 2),
        (r"v_(fma|mad)_mix(lo|hi)?_(?P<type>f32|f16|bf16)$", 2),
        (r"v_dot2(c|acc)?_(?P<type>f32)_b?f16$", 4),
        (r"v_dot2_(?P<type>f16_f16|bf16_bf16)$", 4),
        (rf"v_(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)(_legacy)?_{_TYPE}$", 1),
        (r"s_(add|sub|mul)_(?P<type>f32|f16)$", 1),  # RDNA 3.5 and later
        (r"s_(fmac|fmaak|fmamk)_(?P<type>f32|f16)$", 2),
    )
)
_PACKED = re.compile(r"v_pk_(?P<rest>.*)$")
_DUAL = re.compile(r"v_dual_(?P<rest>\S+)")
_MIXED = re.compile(r"_mix(lo|hi)?_")
Unit = Literal["vector", "matrix", "scalar"]
_INTEGERS = ("i4", "i8", "iu4", "iu8")


class Flops(msgspec.Struct, frozen=True):
    """Operations of one type in one execution. Matrix and scalar instructions work once for a wave, whichever lanes
    are active."""

    dtype: str  # f32, f16, bf16, f64, f8, i8
    unit: Unit
    each: int  # of an active lane where the unit is the vector unit, else of a wave


@lru_cache(maxsize=8192)
def flops_of(text: str) -> tuple[Flops, ...]:
    """The operations of an instruction as the disassembler prints it, none where it computes no floating-point number.

    >>> flops_of("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]")
    (Flops(dtype='f32', unit='vector', each=4),)
    """
    parts = [_of_one(part.split(None, 1)[0]) for part in text.split("::") if part.strip()]
    return tuple(part for part in parts if part is not None)


def _of_one(mnemonic: str) -> Flops | None:
    name = _ENCODING.sub("", mnemonic)
    if dual := _DUAL.match(name):
        name = f"v_{dual['rest']}"
    if class_of(name) == "matrix":
        return _of_matrix(name)
    packed = _PACKED.match(name)
    width = 2 if packed else 1
    name = f"v_{packed['rest']}" if packed else name
    for pattern, each in _RULES:
        if match := pattern.match(name):
            dtype = "f32" if _MIXED.search(name) else match["type"].partition("_")[0]
            unit: Unit = "scalar" if name.startswith("s_") else "vector"
            return Flops(dtype=dtype, unit=unit, each=each * width)
    return None


def _of_matrix(name: str) -> Flops | None:
    each, inputs = matrix_work(name)
    if each is None or inputs is None:
        return None
    dtype = "f8" if inputs.startswith(("fp8", "bf8")) else "i8" if inputs in _INTEGERS else inputs
    return Flops(dtype=dtype, unit="matrix", each=each)
