"""The roofline."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.roofline import Ceiling, KernelRoofline, Roofline, RooflineGpu, WorkPart
from rocm_perf.render.figures.figure import NARROW, WIDE, Figure, Missing
from rocm_perf.render.figures.roofline import roofline_figure
from tests.unit.render.figures.drawings import SVG, check, parsed, text_boxes, texts


def value(number: float, unit: str = "", doubt: str | None = None) -> Quantity:
    return Quantity(number, unit, "test", doubt=doubt)


GPU = RooflineGpu(
    name="GPU <X>",
    gfx="gfx942",
    agents=(0,),
    ceilings=(
        Ceiling("f16 matrix", "compute", value(1000, "TFLOP/s"), False, "sheet"),
        Ceiling("bf16 matrix", "compute", value(1000, "TFLOP/s"), False, "sheet"),
        Ceiling(
            "f32 vector",
            "compute",
            value(90, "TFLOP/s"),
            True,
            "this machine",
            data_sheet=value(100, "TFLOP/s"),
        ),
        Ceiling("HBM", "memory", value(5, "TB/s"), False, "sheet"),
        Ceiling("L2", "memory", value(30, "TB/s"), False, "sheet"),
    ),
    told_by="agents",
)


def kernel(
    name: str, intensity: float, tflops: float, total_ns: int = 1000, doubt: str | None = None
) -> KernelRoofline:
    part = WorkPart(
        ceiling="f16 matrix",
        kind="compute",
        amount=value(1, "FLOP"),
        rate=value(tflops),
        intensity=None,
        percent_of_ceiling=value(1),
        basis="counters",
        dispatches=2,
    )
    return KernelRoofline(
        kernel=name,
        short_name=name,
        gpu=0,
        calls=2,
        total_ns=total_ns,
        basis="counters",
        dispatches=2,
        time_ns=value(1),
        work=(part,),
        flops=value(1),
        bytes=value(1),
        operational_intensity=value(intensity, "FLOP/B"),
        tflops=value(tflops, "TFLOP/s"),
        tbytes=value(tflops / intensity, "TB/s"),
        roof=value(1000),
        percent_of_roof=value(50, "%", doubt),
        position="memory (HBM)",
        regime="memory",
        reason="near HBM",
        spread=None,
        evidence={},
    )


def roofline(*kernels: KernelRoofline) -> Roofline:
    return Roofline(gpus=(GPU,), kernels=kernels)


def dots(drawn: object) -> list[tuple[float, float, float]]:
    assert isinstance(drawn, Figure)
    shapes = [one for one in parsed(drawn).iter(f"{SVG}circle") if "dot" in one.get("class", "").split()]
    return [
        (float(one.get("cx", "0")), float(one.get("cy", "0")), float(one.get("r", "0"))) for one in shapes
    ]


def test_equal_factors_are_equal_distances_on_both_axes() -> None:
    drawn = roofline_figure(roofline(*(kernel(f"k{power}", 10.0**power, 10.0**power) for power in range(3))))
    (x0, y0, _), (x1, y1, _), (x2, y2, _) = dots(drawn)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.02)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.02)
    assert x0 < x1
    assert y0 > y1


def test_a_kernel_at_its_bandwidth_lies_on_the_line_of_the_memory() -> None:
    drawn = roofline_figure(roofline(kernel("on", 10, 50), kernel("under", 1, 0.1)))
    (x, y, _), _ = dots(drawn)
    lines = [one for one in parsed(drawn).iter(f"{SVG}line") if one.get("class") == "roof"]
    rising = next(one for one in lines if one.get("y1") != one.get("y2"))
    x1, y1, x2, y2 = (float(rising.get(name, "0")) for name in ("x1", "y1", "x2", "y2"))
    assert y == pytest.approx(y1 + (x - x1) / (x2 - x1) * (y2 - y1), abs=0.1)


def test_areas_are_as_times_are() -> None:
    drawn = roofline_figure(roofline(kernel("long", 1, 1, 8000), kernel("short", 10, 1, 2000)))
    radii = [radius for *_, radius in dots(drawn)]
    assert radii[0] == pytest.approx(2 * radii[1])


def test_ceilings_of_one_rate_are_one_and_measured_ones_stand_beside_the_data_sheet() -> None:
    drawn = roofline_figure(roofline(kernel("k", 10, 10)))
    shown = texts(drawn)
    assert "f16, bf16 matrix: 1,000 TFLOP/s" in shown
    assert "f32 vector: 90 TFLOP/s measured" in shown
    hints = [one.text or "" for one in parsed(drawn).iter(f"{SVG}title")]
    assert "f32 vector: 100 TFLOP/s by the data sheet" in hints
    assert any(text.startswith("Ceilings: sheet; measured on this machine") for text in shown)


def test_what_lies_above_its_roof_is_marked() -> None:
    drawn = roofline_figure(roofline(kernel("k", 10, 10, doubt="exceeds the roof")))
    rings = [one for one in parsed(drawn).iter(f"{SVG}circle") if one.get("class") == "doubtful"]
    assert len(rings) == 1
    assert any("cannot be" in text for text in texts(drawn))


def test_kernels_without_a_place_are_named_with_the_reason() -> None:
    absent = replace(
        kernel("copy", 1, 1), operational_intensity=unavailable("FLOP/B", "", "no formula for aten::cat")
    )
    shown = " ".join(texts(roofline_figure(roofline(kernel("k", 10, 10), absent))))
    assert "Not placed, 50.0 % of the kernel time: copy (no formula for aten::cat)." in shown
    assert roofline_figure(roofline(absent)) == Missing("near HBM")


def test_a_kernel_without_operations_has_no_place() -> None:
    idle = kernel("fill", 1, 1)
    idle = replace(idle, operational_intensity=value(0), tflops=value(0))
    shown = " ".join(texts(roofline_figure(roofline(kernel("k", 10, 10), idle))))
    assert "no floating-point operations" in shown


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_labels_do_not_overlap_and_nothing_leaves_the_picture(width: float) -> None:
    names = [f"kernel_with_a_long_name_{number}_MT{number}x{number}" for number in range(40)]
    crowd = [
        kernel(name, 1 + number / 40, 3 + number % 5, 1000 - number) for number, name in enumerate(names)
    ]
    drawn = roofline_figure(roofline(*crowd), width)
    check(drawn)
    labels = text_boxes(drawn)
    overlapping = [(a, b) for place, a in enumerate(labels) for b in labels[place + 1 :] if a.overlaps(b)]
    assert not overlapping


def test_gpus_without_ceilings_still_show_their_kernels() -> None:
    unknown = replace(GPU, ceilings=(), unavailable="the model is not known")
    drawn = roofline_figure(Roofline(gpus=(unknown,), kernels=(kernel("k", 10, 10),)))
    check(drawn)
    assert "No ceilings: the model is not known." in texts(drawn)
