"""Models as the calls of one step: what an eager one runs, and what a compiler makes of it."""

from __future__ import annotations

from rocm_perf.analysis.compare.models.calls import GpuCall, GpuWork

GEMM = "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x32x128_MI16x16x1_SN"
SMALL, LARGE = "[[8, 64], [64, 64]]", "[[8, 64], [64, 256]]"


def op(
    name: str, gpu_ns: int = 10, *, shapes: str = "[[8, 64]]", kernel: str = "", module: str | None = None
) -> GpuCall:
    """A call that launches one kernel."""
    work = (GpuWork(kernel or f"kernel_of_{name}", gpu_ns),)
    return GpuCall(work=work, operator=name, shapes=shapes, module=module)


def bare(kernel: str, gpu_ns: int = 10) -> GpuCall:
    """A kernel that no operator owns, as in the replay of a graph."""
    return GpuCall(work=(GpuWork(kernel, gpu_ns),))


def mm(shapes: str = SMALL, gpu_ns: int = 100, kernel: str = GEMM) -> GpuCall:
    return op("aten::mm", gpu_ns, shapes=shapes, kernel=kernel)


def triton(name: str, gpu_ns: int = 12) -> GpuCall:
    """A kernel of inductor's, under an operator of the same name."""
    return op(name, gpu_ns, kernel=name)


NORM = ("pow", "mean", "add", "rsqrt", "mul")


def layer() -> list[GpuCall]:
    """A norm, two products with an activation between them, and a residual."""
    norm, activation = ([op(f"aten::{name}") for name in names] for names in (NORM, ("silu", "mul")))
    return [*norm, mm(), *activation, mm(LARGE), op("aten::add")]


def compiled_layer(number: int) -> list[GpuCall]:
    """The same, fused; the residual of the layer before is part of the norm."""
    return [
        triton(f"triton_red_fused_add_mean_mul_pow_rsqrt_{number}"),
        mm(),
        triton(f"triton_poi_fused_mul_silu_{number}"),
        mm(LARGE),
    ]
