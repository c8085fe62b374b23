"""The sizes of products of experts, from the names and grids of the kernels that compute them. Where the weights are
not passed to the operator, nothing else tells them.

Triton's (triton_kernels): `_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu` states the types of result, data and
weights, and the rows, columns and depth of a tile and into how many parts the depth is split. The grid is flat.

TensorRT-LLM's: `bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_..._transOut_..._bN_..._swiGlu_dynBatch_sm100f` states the
types of result, weights, data and sums, and a tile of a transposed product: its columns, rows and depth. The grid has
the tiles of columns along x and those of rows along y (BatchedGemmInterface.h).
"""

from __future__ import annotations

import re

import msgspec

from rocm_perf.analysis.operators.work.call import NoFormulaError
from rocm_perf.analysis.operators.work.routed import Grid

_GATED = re.compile(r"swiglu|geglu", re.IGNORECASE)

# Names come from strangers: no part of a pattern can match what the next one does, so none is tried in many ways.
_SIZE = r"[1-9]\d{0,5}"
_OF_TRITON = r"mxfp4|bf16|fp16|fp32|fp8[a-wyz\d]*"  # `x` parts the types
_TRITON = re.compile(
    rf"_matmul_ogs_[NT]{{3}}_(?P<out>{_OF_TRITON})x(?P<data>{_OF_TRITON})x(?P<weight>{_OF_TRITON})"
    rf"_(?P<height>{_SIZE})x(?P<width>{_SIZE})x{_SIZE}x(?P<splits>{_SIZE})(_\w+)?"
)
_OF_TENSORRT = r"MxE2m1|MxE4m3|E2m1|E4m3|Bfloat16|Fp16|Fp32"
_TENSORRT = re.compile(rf"bmm_(?P<out>{_OF_TENSORRT})_(?P<weight>{_OF_TENSORRT})(?P<data>{_OF_TENSORRT})?_")
_TENSORRT_TILE = re.compile(rf"t(?P<width>{_SIZE})x(?P<height>{_SIZE})x{_SIZE}(u\d+)?")
_TRANSPOSED = frozenset({"transOut", "bN"})  # words of a name whose tiles are counted as said above

# Bytes of 32 values, with the scales of their blocks; and torch's name of the type.
_TYPES = {
    "fp32": (128, "float32"),
    "fp16": (64, "float16"),
    "bf16": (64, "bfloat16"),
    "fp8": (32, "float8"),
    "mxfp4": (17, "float4"),  # blocks of 32
    "Fp32": (128, "float32"),
    "Fp16": (64, "float16"),
    "Bfloat16": (64, "bfloat16"),
    "E4m3": (32, "float8"),
    "MxE4m3": (33, "float8"),
    "MxE2m1": (17, "float4"),
    "E2m1": (18, "float4"),  # blocks of 16
}


class ElementType(msgspec.Struct, frozen=True):
    """A type as a kernel's name has it."""

    name: str

    @property
    def torch(self) -> str:
        """torch's name, as far as it tells rates apart."""
        return _TYPES[self._known][1]

    def size(self, values: int) -> int:
        """The bytes of so many values."""
        return values * _TYPES[self._known][0] // 32

    @property
    def _known(self) -> str:
        return "fp8" if self.name.startswith("fp8") else self.name


class Product(msgspec.Struct, frozen=True):
    """One of the two products of experts."""

    kernel: str
    out: ElementType
    data: ElementType
    weight: ElementType
    height: int  # of a tile, along rows of tokens
    width: int
    gated: bool  # it keeps half of the columns that it computes
    tiles: int
    high: int | None = None  # how many of them are along the rows, where the grid says so

    def across(self, rows: int, experts: int) -> int:
        """How many tiles the columns take; the last may be filled in part."""
        if rows < 1 or experts < 1:
            raise NoFormulaError("it has no tokens, or no experts to send them to")
        high = tiles_high(rows, experts, self.height)
        across, rest = divmod(self.tiles, high)
        if rest or self.high not in (None, high):
            raise NoFormulaError(f"its {self.tiles} tiles are not {high} tiles high")
        return across


def tiles_high(rows: int, experts: int, height: int) -> int:
    """How many tiles rows take at most, whichever experts they are sent to: those of a tile belong to one expert
    (n_blocks in triton_kernels' routing.py, getMaxNumCtasInBatchDim in TensorRT-LLM's runner.h)."""
    return rows if rows <= experts else experts - 1 - (experts - rows - 1) // height


def product_of(kernel: str, grid: Grid) -> Product | None:
    """What a launch multiplies; None of a kernel whose name does not say so."""
    x, y, z = grid
    if match := _TRITON.fullmatch(kernel):
        return _product(match, match, x * y * z // int(match["splits"]), None)
    if match := _TENSORRT.match(kernel):
        words = kernel[match.end() :].split("_")
        tile = next(filter(None, map(_TENSORRT_TILE.fullmatch, words)), None)
        return _product(match, tile, x * y, y) if tile and _TRANSPOSED.issubset(words) else None
    return None


def _product(types: re.Match[str], tile: re.Match[str], tiles: int, high: int | None) -> Product:
    return Product(
        kernel=types.string,
        out=ElementType(types["out"]),
        data=ElementType(types["data"] or types["weight"]),
        weight=ElementType(types["weight"]),
        height=int(tile["height"]),
        width=int(tile["width"]),
        gated=bool(_GATED.search(types.string)),
        tiles=tiles,
        high=high,
    )
