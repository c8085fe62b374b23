"""Mixtures of experts whose weights are not passed to the operator: the kernels that it launched tell how large they
are. A first product goes from the hidden width to an inner one and keeps half of it; a second one goes back."""

from __future__ import annotations

import re

import msgspec

from rocm_perf.analysis.operators.work.call import (
    Call,
    Counted,
    NoFormulaError,
    NotRecordedError,
    element_bytes,
)
from rocm_perf.analysis.operators.work.grouped_kernels import Product, product_of, tiles_high
from rocm_perf.analysis.operators.work.routed import CHOSEN, MOST_CHOSEN, WEIGHTS, Launch
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_SUM = re.compile(r"^_finalize_matmul|moe::dev::finalize")
_CONVERSION = re.compile(r"quantize_with_block_size")


class Stage(msgspec.Struct, frozen=True):
    """[rows, depth] x [experts, depth, columns], and the bytes of what goes in and comes out beside the weights."""

    product: Product
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
        return self.product.weight.size(self.experts * self.depth * self.columns)


def _forward(call: Call) -> Counted:
    """Both products, where their launches say how large they are."""
    if not call.tensor("hidden", 2).shape[0]:
        return Counted(0, "0: it has no tokens", on_matrix=True)
    if call.routed is None:
        return _missing(WEIGHTS)
    try:
        stages = _stages(call)
    except (NoFormulaError, NotRecordedError) as error:
        return _missing(f"{WEIGHTS}, and {error}")
    hidden = call.tensor("hidden")
    return _counted(stages, output_bytes=hidden.elements * element_bytes(hidden))


def stage_of(kernel: str, call: Call) -> Stage | None:
    """Return the product of a call that a kernel computes; None where its sizes are not known."""
    try:
        return next((stage for stage in _stages(call) if stage.product.kernel == kernel), None)
    except (NoFormulaError, NotRecordedError):
        return None


def _missing(reason: str) -> Counted:
    text = "2 * tokens * experts of a token * sizes"
    return Counted(None, text, on_matrix=True, flops_missing=reason, bytes_missing=reason)


def launched(kernel: str, call: Call) -> Counted:
    """The work of one kernel of a call: all that it moves is `touched`."""
    up, down = _stages(call)
    if _SUM.search(kernel):
        return _added_up(call, down)
    if _CONVERSION.search(kernel):
        return _converted(call, up)
    own = tuple(stage for stage in (up, down) if stage.product.kernel == kernel)
    if not own:
        raise NoFormulaError(f"{kernel} is none of the products of its call")
    return _counted(own, moved=own[0].moved)


def _added_up(call: Call, down: Stage) -> Counted:
    """The results of the experts of each token become one."""
    elements = down.rows * down.columns
    moved = down.product.out.size(elements + call.tensor("hidden").elements)
    return Counted(elements, f"1 * {elements} elements: add", touched_bytes=moved, touched="results added up")


def _converted(call: Call, up: Stage) -> Counted:
    """Tokens become what the first product multiplies."""
    elements = call.tensor("hidden").elements
    moved = elements * element_bytes(call.tensor("hidden")) + up.product.data.size(elements)
    return Counted(0, "0: converts", touched_bytes=moved, touched="tokens converted")


def _counted(stages: tuple[Stage, ...], *, output_bytes: int = 0, moved: int = 0) -> Counted:
    product = stages[0].product
    return Counted(
        sum(stage.flops for stage in stages),
        " + ".join(stage.text for stage in stages),
        output_bytes,
        moved + sum(stage.weight_bytes for stage in stages),
        f"of the weights those of {stages[0].experts} experts",
        on_matrix=True,
        dtype=product.data.torch,
        flops_doubt=f"at most: the width between its products is known to a tile of {product.width} columns",
        bytes_doubt=CHOSEN,
    )


def _stages(call: Call) -> tuple[Stage, Stage]:
    """Up to the inner width, and down from it."""
    up, down = _products(call.routed.launches if call.routed else ())
    tokens, hidden = call.tensor("hidden", 2).shape
    experts = call.tensor("logits", 2).shape[1]
    rows = tokens * _top_k(call, up, tokens, experts)
    columns = up.width * up.across(rows, experts)
    if down.across(rows, experts) != -(-hidden // down.width):
        raise NoFormulaError("the second product is not as wide as the result")
    inner, chosen = columns // 2, min(experts, rows)
    ups = up.data.size(tokens * hidden) + up.out.size(rows * inner)
    downs = down.data.size(rows * inner) + down.out.size(rows * hidden)
    return (
        Stage(up, rows, chosen, hidden, columns, ups),
        Stage(down, rows, chosen, inner, hidden, downs),
    )


def _top_k(call: Call, product: Product, tokens: int, experts: int) -> int:
    """As recorded, or the only number that the height of the grid agrees with."""
    if call.routed is not None and call.routed.top_k is not None:
        return call.routed.top_k
    fitting = [
        count
        for count in range(1, min(experts, MOST_CHOSEN) + 1)
        if tiles_high(tokens * count, experts, product.height) == product.high
    ]
    if len(fitting) != 1:
        raise NotRecordedError("how many experts a token goes to is not recorded")
    return fitting[0]


def _products(launches: tuple[Launch, ...]) -> tuple[Product, Product]:
    """The first and the second product of a call."""
    products = [product for launch in launches if (product := _product(launch))]
    gated = [product for product in products if product.gated]
    plain = [product for product in products if not product.gated]
    if len(gated) != 1 or len(plain) != 1:
        raise NotRecordedError(
            "which of its kernels is the first product, and which the second, is not recorded"
        )
    return gated[0], plain[0]


def _product(launch: Launch) -> Product | None:
    if launch.grid is None:
        raise NotRecordedError("the grids of its kernels are not recorded")
    return product_of(launch.kernel, launch.grid)


FORMULAS: tuple[Formula, ...] = formulas(
    _forward,
    "vllm::moe_forward*(hidden, logits, ...)",
    "sglang::*moe_forward*(hidden, logits, ...)",
)
