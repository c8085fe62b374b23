"""Public torch traces: the grid that follows from a kernel's name and its operator's shape is the recorded one, and no
product is faster than the model of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from rocm_perf.analysis.limits.losses import Launch, Rates, rates_of
from rocm_perf.analysis.limits.products import Fit, fit, modelled_ns
from rocm_perf.analysis.limits.shapes import launches_of, shape_causes
from rocm_perf.analysis.limits.tiles import tile
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.model.results.limits import Cause
from tests.recordings import recording

MI300X = "AMD Instinct MI300X"
PLACE = "torch_trace/AMD-AGI_TraceLens__{}.json.gz"


class Product(msgspec.Struct, frozen=True):
    """One shape that one Tensile kernel computed."""

    launch: Launch
    placed: Fit
    model: float  # share of its time that the model of it explains


def _products(path: Path) -> Iterator[Product]:
    loaded = recording(path)
    known = devices(loaded)
    points = roofline(loaded)
    for (place, kernel), groups in launches_of(loaded, known).items():
        of_kernel, rates = tile(kernel), rates_of(known[place], points.gpus[place])
        if of_kernel is None or of_kernel.maker != "Tensile" or rates is None or rates.name != MI300X:
            continue
        for launch in groups:
            if (
                launch.sizes is not None
                and len(launch.sizes) == 4
                and launch.workgroups
                and _has_peak(launch, rates)
            ):
                placed = fit(of_kernel, launch.sizes, launch.workgroups, rates.units)
                yield Product(launch, placed, modelled_ns(launch, of_kernel, rates) / launch.ns)


def _has_peak(launch: Launch, rates: Rates) -> bool:
    return launch.ceiling in rates.best


@cache
def products(folder: Path) -> tuple[Product, ...]:
    """The distinct products of all torch traces, the fastest launch of each."""
    fastest: dict[tuple[object, ...], Product] = {}
    for path in sorted((folder / "torch_trace").glob("*.json.gz")):
        for one in _products(path):
            key = (one.launch.kernel, one.launch.sizes, one.launch.workgroups)
            if key not in fastest or one.model > fastest[key].model:
                fastest[key] = one
    return tuple(fastest.values())


def test_the_recorded_grid_is_that_of_the_name_and_the_shape(specimens: Path) -> None:
    found = products(specimens)
    explained = [one for one in found if one.placed.grid in ("by tiles", "split")]

    assert len(found) >= 10
    assert len(explained) >= 0.98 * len(found)


def test_no_product_is_faster_than_the_model_of_it(specimens: Path) -> None:
    """What the best kernels reach, with the losses by tiles, rounds and edges, is a lower bound of the time."""
    assert max(one.model for one in products(specimens)) <= 1.0


def test_long_products_come_near_the_model_of_them(specimens: Path) -> None:
    long = [one.model for one in products(specimens) if one.launch.tflops >= 250]

    assert long
    assert sum(long) / len(long) >= 0.6


def _first(folder: Path, name: str, kernel: str) -> Cause | None:
    loaded = recording(folder / PLACE.format(name))
    found = shape_causes(loaded, devices(loaded), roofline(loaded))
    return next((causes[0] for (_, known), causes in found.items() if kernel in known), None)


@pytest.mark.parametrize(
    ("name", "kernel", "cause"),
    [
        ("mi300_gaunernst_bert-small-uncased__1016001", "attn_fwd", "few-attention-blocks"),
        ("mi300_gaunernst_bert-small-uncased__1016001", "MT16x16x128", "small-product"),
        ("h100_gaunernst_bert-small-uncased__1016001", "flash_fwd_kernel", "few-attention-blocks"),
        ("h100_gaunernst_bert-small-uncased__1016001", "256x128_64x3_tn_align2", "misaligned-rows"),
        ("mi300_Qwen_Qwen1.5-0.5B-Chat__1016005", "MT128x224x64", None),  # 466 TFLOP/s: no loss by shape
        ("h100_Qwen_Qwen1.5-0.5B-Chat__1016005", "tilesize128x128x64", None),
        ("sglang_Qwen3-8B_decode", "MT256x32x64", "streams-weights"),
        ("vllm_decode_hipgraph", "MT448x32x64", "streams-weights"),
        ("torch_compile_triton", "MT256x192x64", None),
        ("torch_compile_triton", "attn_fwd", "slow-attention-implementation"),
        ("mi300_resnet_act_checkpoint", "batched_transpose_16x32", "layout-conversions"),
    ],
)
def test_the_first_cause_in_a_recording(specimens: Path, name: str, kernel: str, cause: str | None) -> None:
    first = _first(specimens, name, kernel)

    assert (first.id if first else None) == cause
