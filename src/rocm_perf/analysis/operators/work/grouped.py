"""The grouped products that Triton's own kernels (triton_kernels) run for a mixture of experts.

The weights are no arguments of a recorded operator, but the name of such a kernel states its types and its tile, and
its grid how many tiles there are. The rows of a tile belong to one expert: R rows of E experts take R tiles in height
where there are no more rows than experts, else E - 1 - (E - R - 1) // height (n_blocks in triton_kernels' routing.py).
Of the two products of a call the first has `swiglu` in its name and keeps half of the columns that it computes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocm_perf.analysis.operators.work.call import (
    Call,
    Counted,
    NoFormulaError,
    NotRecordedError,
    element_bytes,
)
from rocm_perf.analysis.operators.work.routed import CHOSEN, WEIGHTS
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_TYPE = r"mxfp4|bf16|fp16|fp32|fp8\w*?"
_PRODUCT = re.compile(rf"_matmul_ogs_[NT]{{3}}_({_TYPE})x({_TYPE})x({_TYPE})_(\d+)x(\d+)x\d+x(\d+)(_\w+)?")
_GATED = "swiglu"
_SUM = "_finalize_matmul"
_BYTES_OF_32 = {
    "fp32": 128,
    "bf16": 64,
    "fp16": 64,
    "fp8": 32,
    "mxfp4": 17,
}  # 17: with the scale of the block
_TORCH = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp8": "float8"}


@dataclass(frozen=True)
class _Product:
    """What the name of a kernel and its grid say of a product."""

    kernel: str
    out: str
    data: str
    weight: str
    height: int  # of a tile
    width: int
    splits: int
    gated: bool
    workgroups: int

    def tiles_across(self, rows: int, experts: int) -> int:
        """How many tiles its columns take; the last may be filled in part."""
        high = rows if rows <= experts else experts - 1 - (experts - rows - 1) // self.height
        across, rest = divmod(self.workgroups, high * self.splits)
        if rest or not across:
            raise NoFormulaError(f"{self.workgroups} workgroups are not {high} tiles high")
        return across


@dataclass(frozen=True)
class _Stage:
    """[rows, depth] x [experts, depth, columns], and the bytes of what goes in and comes out beside the weights."""

    product: _Product
    rows: int
    experts: int  # that could be chosen
    depth: int
    columns: int
    moved: int

    @property
    def flops(self) -> int:
        """A multiply and an add for each term."""
        return 2 * self.rows * self.columns * self.depth

    @property
    def text(self) -> str:
        """The same as a formula."""
        return f"2 * {self.rows} tokens sent * {self.columns} * {self.depth}"

    @property
    def weight_bytes(self) -> int:
        """Of all experts that could be chosen."""
        return _bytes(self.product.weight, self.experts * self.depth * self.columns)


def _forward(call: Call) -> Counted:
    """Both products, where their launches say how large they are."""
    if call.routed is None:
        text = "2 * tokens * experts of a token * sizes"
        return Counted(None, text, on_matrix=True, flops_missing=WEIGHTS, bytes_missing=WEIGHTS)
    result = call.tensor("hidden").elements * element_bytes(call.tensor("hidden"))
    return _counted(_stages(call), output_bytes=result)


def launched(kernel: str, call: Call) -> Counted:
    """The work of one kernel of a call: all that it moves is `touched`."""
    stages = _stages(call)
    if kernel.startswith(_SUM):
        return _added_up(call, stages[1])
    own = tuple(stage for stage in stages if stage.product.kernel == kernel)
    if not own:
        raise NoFormulaError(f"{kernel} is none of the products of its call")
    return _counted(own, moved=own[0].moved)


def _added_up(call: Call, down: _Stage) -> Counted:
    """The results of the experts of each token become one."""
    elements = down.rows * down.columns
    moved = _bytes(down.product.out, elements + call.tensor("hidden").elements)
    return Counted(elements, f"1 * {elements} elements: add", touched_bytes=moved, touched="results added up")


def _counted(stages: tuple[_Stage, ...], *, output_bytes: int = 0, moved: int = 0) -> Counted:
    product = stages[0].product
    return Counted(
        sum(stage.flops for stage in stages),
        " + ".join(stage.text for stage in stages),
        output_bytes,
        moved + sum(stage.weight_bytes for stage in stages),
        f"of the weights those of {stages[0].experts} experts",
        on_matrix=True,
        dtype=_TORCH[product.data],
        flops_doubt=f"at most: the width between its products is known to a tile of {product.width} columns",
        bytes_doubt=CHOSEN,
    )


def _stages(call: Call) -> tuple[_Stage, _Stage]:
    """Up to the inner width, and down from it."""
    up, down = _products(call)
    tokens, hidden = call.tensor("hidden", 2).shape
    experts = call.tensor("logits", 2).shape[1]
    rows = tokens * _top_k(call)
    columns = up.width * up.tiles_across(rows, experts)
    if down.tiles_across(rows, experts) != -(-hidden // down.width):
        raise NoFormulaError("the second product is not as wide as the result")
    inner, chosen = columns // 2, min(experts, rows)
    ups = _bytes(up.data, tokens * hidden) + _bytes(up.out, rows * inner)
    downs = _bytes(down.data, rows * inner) + _bytes(down.out, rows * hidden)
    return (
        _Stage(up, rows, chosen, hidden, columns, ups),
        _Stage(down, rows, chosen, inner, hidden, downs),
    )


def _top_k(call: Call) -> int:
    if call.routed is None or call.routed.top_k is None:
        raise NotRecordedError("how many experts a token goes to is not recorded")
    return call.routed.top_k


def _products(call: Call) -> tuple[_Product, _Product]:
    """The first and the second product of the call."""
    launches = call.routed.launches if call.routed else ()
    products = [product for launch in launches if (product := _product(*launch))]
    gated = [product for product in products if product.gated]
    plain = [product for product in products if not product.gated]
    if len(gated) != 1 or len(plain) != 1:
        raise NotRecordedError(
            "which of its kernels is the first product, and which the second, is not recorded"
        )
    return gated[0], plain[0]


def _product(kernel: str, workgroups: int | None) -> _Product | None:
    match = _PRODUCT.fullmatch(kernel)
    if match is None:
        return None
    if workgroups is None:
        raise NotRecordedError("the grids of its kernels are not recorded")
    *types, height, width, splits, after = match.groups()
    out, data, weight = ("fp8" if name.startswith("fp8") else name for name in types)
    is_gated = _GATED in (after or "")
    return _Product(kernel, out, data, weight, int(height), int(width), int(splits), is_gated, workgroups)


def _bytes(type_name: str, values: int) -> int:
    return values * _BYTES_OF_32[type_name] // 32


FORMULAS: tuple[Formula, ...] = formulas(
    _forward,
    "vllm::moe_forward*(hidden, logits, ...)",
    "sglang::*moe_forward*(hidden, logits, ...)",
)
