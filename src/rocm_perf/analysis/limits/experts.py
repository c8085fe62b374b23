"""Causes in mixtures of experts, from the sizes of tokens and weights: how many rows each expert gets decides whether
its weights or the arithmetic set the pace."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rocm_perf.analysis.limits.losses import rates_of
from rocm_perf.analysis.limits.uses import KernelUses, Use, call_of, cause, peak_rate, times_as_fast, weighed
from rocm_perf.analysis.operators.work.call import Call, NoFormulaError, NotRecordedError
from rocm_perf.analysis.operators.work.grouped import stage_of
from rocm_perf.analysis.operators.work.grouped_kernels import product_of
from rocm_perf.analysis.operators.work.moe import top_k
from rocm_perf.analysis.operators.work.routed import routed as routed_experts
from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.machine_ceilings import MATRIX
from rocm_perf.model.results.limits import Cause
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

WEIGHTS_ROWS = (
    64  # for each expert: with fewer, reading an expert's weights takes longer than multiplying with them
)
_PLAUSIBLE = 1.05  # of a peak
_AT_ROOF = 0.85
_PADDED = 2.0
_LOW_TILE = 32  # rows
_MATRIX = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}


class Experts(msgspec.Struct, frozen=True):
    """One call of a mixture of experts."""

    tokens: int
    experts: int
    top_k: int
    expert_bytes: float
    flops: float
    dtype: str
    tile_rows: int | None = None  # of a tile, where the kernel's name says so

    @property
    def rows(self) -> float:
        """Rows for each expert, if every expert gets as many."""
        return self.tokens * self.top_k / self.experts

    @property
    def even_experts(self) -> float:
        """How many experts get at least one token, if tokens choose evenly."""
        return self.experts * (1 - (1 - self.top_k / self.experts) ** self.tokens)

    @property
    def even_bytes(self) -> float:
        """The weights that even routing reads."""
        return self.even_experts * self.expert_bytes

    @property
    def text(self) -> str:
        """The call in words."""
        return (
            f"{format_count(self.tokens, 'token')}, each to {self.top_k} of {self.experts} experts of "
            f"{format_bytes(self.expert_bytes)}: {_rows(self.rows)} for each expert"
        )


def expert_causes(of_kernel: KernelUses) -> list[Cause]:
    """Return what the sizes of its experts say of a kernel."""
    if of_kernel.family.name != "gemm" and not any(use.operator for use in of_kernel.uses):
        return []
    rules = (_impossible, _weights, _arithmetic, _padding, _low_tiles)
    return [one for rule in rules for one in weighed(of_kernel, rule)]


def experts_of(use: Use) -> Experts | None:
    """Return the sizes of a mixture of experts that one kernel computes."""
    try:
        call = call_of(use, "hidden", "w1", "w2") if use.alone else None
        return _experts(call) if call is not None else _one_product(use)
    except (NoFormulaError, NotRecordedError, ValueError, ZeroDivisionError):
        return None


def _one_product(use: Use) -> Experts | None:
    """The sizes of one of the two products of experts, where their kernels' names and grids tell them."""
    routed = routed_experts(use.recorded[-1]) if use.recorded else None
    call = call_of(use, "hidden", "logits") if routed is not None else None
    stage = stage_of(use.kernel, replace(call, routed=routed)) if call is not None else None
    if call is None or stage is None:
        return None
    tokens = call.tensor("hidden", 2).shape[0]
    return Experts(
        tokens=tokens,
        experts=call.tensor("logits", 2).shape[1],
        top_k=stage.rows // tokens,
        expert_bytes=stage.weight_bytes / stage.experts,
        flops=float(stage.flops),
        dtype=_MATRIX.get(stage.product.data.torch, ""),
        tile_rows=stage.product.height,
    )


def _experts(call: Call) -> Experts:
    hidden, up, down = call.tensor("hidden", 2), call.tensor("w1", 3), call.tensor("w2", 3)
    (tokens, width), chosen = hidden.shape, top_k(call)
    count = up.shape[0]
    if not tokens or not 0 < chosen <= count:
        raise NoFormulaError("it has no tokens, or no experts to send them to")
    return Experts(
        tokens=tokens,
        experts=count,
        top_k=chosen,
        expert_bytes=(call.size("w1") + call.size("w2")) / count,
        flops=2.0 * tokens * chosen * width * (up.shape[1] + down.shape[2]),
        dtype=_MATRIX.get(hidden.dtype or "", ""),
    )


def _memory_ns(sizes: Experts, experts: float, use: Use) -> float | None:
    """How long reading the weights of so many experts takes at the peak."""
    peak = peak_rate(use.device)
    return experts * sizes.expert_bytes / peak if peak else None


def _impossible(use: Use, _: KernelUses) -> Cause | None:
    """Say that no routing reads the weights in the time that was recorded."""
    sizes = experts_of(use)
    if sizes is None:
        return None
    fastest: Gpu = use.device.gpu or max(catalog.gpus(), key=lambda gpu: gpu.memory_gbps)
    least = sizes.top_k * sizes.expert_bytes
    needed = least / fastest.memory_gbps
    if needed <= _PLAUSIBLE * use.mean_ns:
        return None
    whose = fastest.name if use.device.gpu else f"{fastest.name}, the fastest GPU known,"
    return Cause(
        id="impossible-time",
        share=1.0,
        saves=None,
        certainty="proven",
        title=f"the recorded time cannot be right: the weights of {sizes.top_k} experts alone take {whose} "
        f"{format_ns(needed)}",
        evidence=(
            sizes.text,
            f"a token needs {sizes.top_k} different experts, so any routing reads at least {format_bytes(least)}; in "
            f"{format_ns(use.mean_ns)} that is {least / use.mean_ns / 1e3:.3g} TB/s, and {whose} moves "
            f"{fastest.memory_gbps / 1e3:.3g} TB/s",
            "the time, the type of the weights, their shapes or the GPU are not what is recorded",
        ),
        remedy="Check how the trace was made: the shapes and types of the weights, the GPU, and whether its times are "
        "measured.",
        source="shapes",
        is_not="a limit of the kernel: no cause follows from numbers that contradict each other",
    )


def _weights(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that reading weights sets the pace, because each expert gets few rows."""
    sizes = experts_of(use)
    if sizes is None or sizes.rows > WEIGHTS_ROWS or _impossible(use, of_kernel) is not None:
        return None
    even = _memory_ns(sizes, sizes.even_experts, use)
    reads = f"even routing reads {sizes.even_experts:.3g} of {sizes.experts} experts, {format_bytes(sizes.even_bytes)}"
    rate = f"{reads}: {sizes.even_bytes / use.mean_ns / 1e3:.3g} TB/s"
    evidence: tuple[str, ...]
    if even is None or use.device.gpu is None:
        evidence, share, saves = (sizes.text, rate, "which GPU it ran on is not recorded"), 0.5, None
    else:
        share = even / use.mean_ns
        peak = f"{use.device.gpu.memory_gbps / 1e3:.3g} TB/s of {use.device.gpu.name}"
        evidence = (
            sizes.text,
            f"{rate}, {'more than' if share > _PLAUSIBLE else f'{format_share(share)} of'} the {peak}",
        )
        saves = 0.0 if share >= _AT_ROOF else 1 - share
        if share > _PLAUSIBLE:
            most = use.mean_ns * use.device.gpu.memory_gbps / sizes.expert_bytes
            evidence += (
                f"in {format_ns(use.mean_ns)} at most {most:.2g} of {sizes.experts} experts can have been read: the "
                "routing was very uneven, or the time, the type or the GPU are not what is recorded",
            )
        elif saves == 0:
            evidence += ("it is at the roof of the memory: only fewer bytes, or more tokens for them, help",)
    few = f"{_rows(sizes.rows)} for each of {sizes.experts} experts"
    return cause(
        "expert-weights",
        use.kernel,
        share=min(1.0, max(share, 0.5)),
        saves=saves,
        certainty="proven" if share >= _AT_ROOF else "likely",
        title=f"{few}: reading their weights sets the pace"
        if share >= _AT_ROOF
        else f"reading the weights sets the pace: {few}",
        evidence=evidence,
        source="shapes",
    )


def _arithmetic(use: Use, _: KernelUses) -> Cause | None:
    """Say that the products of the experts set the pace, and how near they are to what matrix units reach."""
    sizes = experts_of(use)
    rates = rates_of(use.device, None) if use.device.gpu is not None else None
    if sizes is None or rates is None or sizes.rows <= WEIGHTS_ROWS or not sizes.dtype:
        return None
    peak, best = (each.get(sizes.dtype + MATRIX) for each in (rates.peaks, rates.best))
    reached = sizes.flops / use.mean_ns  # FLOP/ns
    if not peak or not best or reached > _PLAUSIBLE * peak:
        return None
    share, at_roof = min(1.0, reached / best), reached >= _AT_ROOF * best
    known = "what products reach at best" if best < peak else "the peak"
    rest = (
        f"that is {format_share(reached / best)} of {known} on this GPU, {best / 1e3:,.0f} TFLOP/s: only a narrower "
        "type (fp8: 2x) or fewer tokens help"
        if at_roof
        else f"{known} on this GPU is {best / 1e3:,.0f} TFLOP/s: at most {times_as_fast(1 - share)}"
    )
    return cause(
        "expert-products",
        use.kernel,
        share=share,
        saves=0.0 if at_roof else 1 - share,
        certainty="proven" if at_roof else "likely",
        title=f"{_rows(sizes.rows)} for each of {sizes.experts} experts fill its tiles: arithmetic sets the pace, at "
        f"{reached / 1e3:,.0f} TFLOP/s, {format_share(reached / peak)} of the {sizes.dtype} peak",
        evidence=(sizes.text, f"{sizes.flops / 1e12:.3g} TFLOP in {format_ns(use.mean_ns)}", rest),
        source="shapes",
    )


def _padding(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that the tiles of the experts are mostly padding, where that arithmetic takes longer than the weights."""
    sizes, gpu = experts_of(use), use.device.gpu
    height = sizes.tile_rows if sizes is not None else None
    peak = gpu.matrix_tflops.get(sizes.dtype) if gpu is not None and sizes is not None else None
    if sizes is None or height is None or not peak or gpu is None or height < _PADDED * sizes.rows:
        return None
    padded = max(1.0, sizes.even_experts * height / (sizes.tokens * sizes.top_k))
    arithmetic = sizes.flops * padded / peak / 1e3
    weights = _memory_ns(sizes, sizes.even_experts, use) or 0.0
    if arithmetic <= weights or _impossible(use, of_kernel) is not None:
        return None
    share = min(1.0, arithmetic / use.mean_ns) * (1 - 1 / padded)
    return cause(
        "expert-padding",
        use.kernel,
        share=share,
        saves=share,
        certainty="likely",
        title=f"tiles of {height} rows for {_rows(sizes.rows)} of each expert: {format_share(1 - 1 / padded)} of the "
        "arithmetic is padding",
        evidence=(
            sizes.text,
            f"{sizes.even_experts:.3g} experts with a token take a tile of {height} rows each",
        ),
        source="shapes",
    )


def _low_tiles(use: Use, _: KernelUses) -> Cause | None:
    """Say what tiles of few rows mean, where the sizes of the experts are not known."""
    product = product_of(use.kernel, (1, 1, 1)) if experts_of(use) is None else None
    if product is None or product.height > _LOW_TILE:
        return None
    return cause(
        "expert-weights",
        use.kernel,
        share=0.5,
        saves=None,
        certainty="hint",
        title=f"reading the weights ({product.weight.name}) of experts with few rows sets the pace: its tiles have "
        f"{product.height}",
        evidence=(
            f"its name says a tile of {product.height} x {product.width}, and weights of {product.weight.name}",
            "how large the experts are, and how many tokens they get, is not recorded: a recording with shapes "
            "(or of the capture of the graph, given with --captures) tells",
        ),
        source="shapes",
    )


def _rows(rows: float) -> str:
    """`0.5 rows`, `1,024 rows`."""
    return "1 row" if rows == 1 else f"{rows:,.0f} rows" if rows >= 10 else f"{rows:.2g} rows"
