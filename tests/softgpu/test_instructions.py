"""Instruction by instruction: what the executor leaves, against references in Python."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocm_perf.softgpu.code import LoadedCode
from tests.compile_amd import Compiler
from tests.softgpu.assembled import LANES, assemble, results
from tests.softgpu.launching import Array

pytestmark = pytest.mark.softgpu
_ARCHS = ("gfx942", "gfx1151")
_CORNERS = (
    0, 1, 2**31, 2**31 - 1, 2**32 - 1, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00800000,
    0x007FFFFF, 0x7F7FFFFF, 0x3FF0000000000000, 0x7FF0000000000000, 0x000FFFFFFFFFFFFF, 0x3C003C00, 0x7C00FC00,
)  # fmt: skip

Reference = Callable[[int, int, int], int | float]


def _low(value: int) -> int:
    return value & 0xFFFFFFFF


def _signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _f32(word: int) -> float:
    return float(np.array([_low(word)], "u4").view("f4")[0])


def _bits32(value: float) -> int:
    with np.errstate(over="ignore"):
        return int(np.array([value], "f8").astype("f4").view("u4")[0])


def _rounded(value: Fraction) -> int:
    """The nearest float, ties to even, from an exact value."""
    if not value:
        return 0
    magnitude = abs(value)
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, -126)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    steps = magnitude / Fraction(2) ** (exponent - 23)
    whole = round(steps)  # ties to even
    return _bits32(float(np.ldexp(float(whole), exponent - 23)) * (1 if value > 0 else -1))


def _fma(a: int, b: int, c: int) -> int:
    x, y, z = _f32(a), _f32(b), _f32(c)
    if not all(map(np.isfinite, (x, y, z))) or x * y == 0 or z == 0:
        with np.errstate(invalid="ignore"):
            return _bits32(np.float64(x) * np.float64(y) + np.float64(z))
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return (
        _rounded(exact)
        if abs(exact) < Fraction(2) ** 128
        else _bits32(float("inf") * (1 if exact > 0 else -1))
    )


def _float_pair(operation: Callable[[np.float64, np.float64], np.float64]) -> Reference:
    def reference(a: int, b: int, c: int) -> int:
        with np.errstate(all="ignore"):
            return _bits32(operation(np.float64(_f32(a)), np.float64(_f32(b))))

    return reference


def _field(a: int, b: int, c: int) -> int:
    return _low(a) >> (b & 31) & ((1 << (c & 31)) - 1)


def _permuted(a: int, b: int, c: int) -> int:
    both = _low(a) << 32 | _low(b)
    out = 0
    for at in range(4):
        which = c >> (8 * at) & 0xFF
        byte = both >> (8 * which) & 0xFF if which < 8 else 0x00 if which == 12 else 0xFF
        if 8 <= which < 12:
            byte = 0xFF if both >> (16 * (which - 8) + 15) & 1 else 0
        out |= byte << (8 * at)
    return out


def _clz(a: int) -> int:
    return 32 - _low(a).bit_length() if _low(a) else 0xFFFFFFFF


# With `{u}` for what gfx11 puts before the type of additions without a carry.
_COMMON: dict[str, Reference] = {
    "v_add{u}_u32_e64 v8, v2, v4": lambda a, b, c: _low(a + b),
    "v_sub{u}_u32_e64 v8, v2, v4": lambda a, b, c: _low(a - b),
    "v_mul_lo_u32 v8, v2, v4": lambda a, b, c: _low(_low(a) * _low(b)),
    "v_mul_hi_u32 v8, v2, v4": lambda a, b, c: _low(a) * _low(b) >> 32,
    "v_mul_hi_i32 v8, v2, v4": lambda a, b, c: _low(_signed(a) * _signed(b) >> 32),
    "v_mad_u32_u24 v8, v2, v4, v6": lambda a, b, c: _low((a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    "v_mad_i32_i24 v8, v2, v4, v6": lambda a, b, c: _low(_signed(a, 24) * _signed(b, 24) + c),
    "v_add3_u32 v8, v2, v4, v6": lambda a, b, c: _low(a + b + c),
    "v_lshl_add_u32 v8, v2, v4, v6": lambda a, b, c: _low((_low(a) << (b & 31)) + c),
    "v_bfi_b32 v8, v2, v4, v6": lambda a, b, c: _low((a & b) | (~a & c)),
    "v_bfe_u32 v8, v2, v4, v6": _field,
    "v_bfe_i32 v8, v2, v4, v6": lambda a, b, c: _low(_signed(_field(a, b, c), c & 31)) if c & 31 else 0,
    "v_perm_b32 v8, v2, v4, v6": _permuted,
    "v_alignbit_b32 v8, v2, v4, v6": lambda a, b, c: _low((_low(a) << 32 | _low(b)) >> (c & 31)),
    "v_alignbyte_b32 v8, v2, v4, v6": lambda a, b, c: _low((_low(a) << 32 | _low(b)) >> (8 * (c & 3))),
    "v_lshlrev_b32_e64 v8, v2, v4": lambda a, b, c: _low(_low(b) << (a & 31)),
    "v_ashrrev_i32_e64 v8, v2, v4": lambda a, b, c: _low(_signed(b) >> (a & 31)),
    "v_lshlrev_b64 v[8:9], v2, v[4:5]": lambda a, b, c: (b << (a & 63)) & (1 << 64) - 1,
    "v_lshrrev_b64 v[8:9], v2, v[4:5]": lambda a, b, c: b >> (a & 63),
    "v_ashrrev_i64 v[8:9], v2, v[4:5]": lambda a, b, c: (_signed(b, 64) >> (a & 63)) & (1 << 64) - 1,
    "v_bfrev_b32_e32 v8, v2": lambda a, b, c: int(f"{_low(a):032b}"[::-1], 2),
    "v_bcnt_u32_b32 v8, v2, v4": lambda a, b, c: _low(bin(_low(a)).count("1") + b),
    "v_med3_i32 v8, v2, v4, v6": lambda a, b, c: _low(sorted(map(_signed, (a, b, c)))[1]),
    "v_max3_u32 v8, v2, v4, v6": lambda a, b, c: max(map(_low, (a, b, c))),
    "v_min_i32_e64 v8, v2, v4": lambda a, b, c: _low(min(_signed(a), _signed(b))),
    "v_sad_u8 v8, v2, v4, v6": lambda a, b, c: _low(
        sum(abs((a >> s & 255) - (b >> s & 255)) for s in (0, 8, 16, 24)) + c
    ),
    "v_and_or_b32 v8, v2, v4, v6": lambda a, b, c: _low((a & b) | c),
    "v_pk_add_u16 v8, v2, v4": lambda a, b, c: (a + b & 0xFFFF) | ((_low(a) >> 16) + (_low(b) >> 16) & 0xFFFF) << 16,
    "v_pk_mul_lo_u16 v8, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]": lambda a, b, c: (
        ((_low(a) >> 16) * (b & 0xFFFF) & 0xFFFF) | ((a & 0xFFFF) * (_low(b) >> 16) & 0xFFFF) << 16
    ),
    "v_add_f32_e64 v8, v2, v4": _float_pair(lambda a, b: a + b),
    "v_sub_f32_e64 v8, |v2|, -v4": _float_pair(lambda a, b: abs(a) + b),
    "v_mul_f32_e64 v8, v2, v4": _float_pair(lambda a, b: a * b),
    "v_fma_f32 v8, v2, v4, v6": _fma,
    "v_cvt_f32_i32_e32 v8, v2": lambda a, b, c: _bits32(_signed(a)),
    "v_cvt_f32_u32_e32 v8, v2": lambda a, b, c: _bits32(_low(a)),
    "v_cvt_u32_f32_e32 v8, v2": lambda a, b, c: (
        0 if _f32(a) != _f32(a) else int(min(max(_f32(a), 0.0), 2.0**32 - 1))
    ),
    "v_floor_f32_e32 v8, v2": lambda a, b, c: _bits32(np.floor(_f32(a))),
    "v_rndne_f32_e32 v8, v2": lambda a, b, c: _bits32(np.rint(_f32(a))),
}  # fmt: skip
_GFX9: dict[str, Reference] = {
    "v_add_u32_sdwa v8, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1": lambda a, b, c: (
        (a >> 8 & 0xFF) + (_low(b) >> 16)
    ),
    "v_lshl_add_u64 v[8:9], v[2:3], 3, v[4:5]": lambda a, b, c: ((a << 3) + b) & (1 << 64) - 1,
    "v_ffbh_u32_e32 v8, v2": lambda a, b, c: _clz(a),
}
_GFX11: dict[str, Reference] = {
    "v_clz_i32_u32_e32 v8, v2": lambda a, b, c: _clz(a),
    "v_dual_mov_b32 v8, v2 :: v_dual_add_nc_u32 v9, v3, v5": lambda a, b, c: (
        _low(a) | _low((a >> 32) + (b >> 32)) << 32
    ),
}
# The lane that each lane takes its value from; None: it gets 0.
_MOVES: dict[str, Callable[[int], int | None]] = {
    "v_mov_b32_dpp v8, v2 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf": lambda lane: lane ^ 2,
    "v_mov_b32_dpp v8, v2 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:1": lambda lane: (
        lane - 3 if lane % 16 >= 3 else None
    ),
    "v_mov_b32_dpp v8, v2 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1": lambda lane: (
        lane + 1 if lane % 16 < 15 else None
    ),
    "v_mov_b32_dpp v8, v2 row_ror:5 row_mask:0xf bank_mask:0xf": lambda lane: lane & ~15 | lane - 5 & 15,
    "v_mov_b32_dpp v8, v2 row_mirror row_mask:0xf bank_mask:0xf": lambda lane: lane ^ 15,
    "v_mov_b32_dpp v8, v2 row_half_mirror row_mask:0xf bank_mask:0x3": lambda lane: (
        lane ^ 7 if lane % 16 < 8 else None
    ),
    "ds_swizzle_b32 v8, v2 offset:0x041f": lambda lane: lane ^ 1,
    "ds_swizzle_b32 v8, v2 offset:0x801b": lambda lane: lane ^ 3,
}


def _references(arch: str) -> dict[str, Reference]:
    is_gfx9 = arch.startswith("gfx9")
    common = {text.replace("{u}", "" if is_gfx9 else "_nc"): reference for text, reference in _COMMON.items()}
    return common | (_GFX9 if is_gfx9 else _GFX11)


@lru_cache
def _code(folder: Path, arch: str) -> LoadedCode:
    return assemble(Compiler(folder), arch, [*_references(arch), *_MOVES])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Compiler.of_this_run(tmp_path_factory).folder


@pytest.mark.parametrize("arch", _ARCHS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_each_is_its_reference(arch: str, folder: Path, seed: int) -> None:
    lanes, rng = LANES[arch], np.random.default_rng(seed)
    random = rng.integers(0, 2**64 - 1, (3, lanes), dtype="u8", endpoint=True)
    sources = np.where(rng.random((3, lanes)) < 0.3, rng.choice(np.array(_CORNERS, "u8"), (3, lanes)), random)
    references = _references(arch)
    found = results(_code(folder, arch), sources, len(references) + len(_MOVES))
    rows = [[int(word) for word in row] for row in sources]
    for number, (text, reference) in enumerate(references.items()):
        for lane in range(lanes):
            wanted = reference(rows[0][lane], rows[1][lane], rows[2][lane])
            assert _same(int(found[number, lane]), int(wanted), text), (
                text,
                lane,
                hex(int(found[number, lane])),
            )
    for number, (text, source) in enumerate(_MOVES.items(), len(references)):
        wanted_row = [_low(rows[0][at]) if (at := source(lane)) is not None else 0 for lane in range(lanes)]
        assert found[number].tolist() == wanted_row, text


def _same(found: int, wanted: int, text: str) -> bool:
    """Equal words; of floats, any NaN equals any other."""
    if "f32" not in text.split(maxsplit=1)[0] or found == wanted:
        return found == wanted
    return all(word & 0x7FFFFFFF > 0x7F800000 for word in (found, wanted))


def test_inactive_lanes_keep_what_they_had(folder: Path) -> None:
    some_lanes = "s_mov_b64 s[8:9], exec\n s_mov_b64 exec, 0xf0\n v_mov_b32 v8, v2\n s_mov_b64 exec, s[8:9]"
    lines = f"v_mov_b32 v8, 7\n {some_lanes}"
    sources: Array = np.arange(192, dtype="u8").reshape(3, 64) + np.uint64(100)
    found = results(assemble(Compiler(folder), "gfx942", [lines]), sources, 1)[0]
    assert found.tolist() == [100 + lane if 4 <= lane < 8 else 7 for lane in range(64)]
