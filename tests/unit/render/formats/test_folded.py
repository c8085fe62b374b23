"""Folded stacks: a line is frames between semicolons, a blank and a whole number."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.model.results.stacks import GpuStack
from rocm_perf.render.formats import folded


def read(path: Path) -> list[tuple[list[str], int]]:
    """The stacks as flamegraph.pl splits them."""
    lines = [line.rpartition(" ") for line in path.read_text().splitlines()]
    return [(stack.split(";"), int(weight)) for stack, _, weight in lines]


def test_frames_and_weights(tmp_path: Path) -> None:
    stacks = [GpuStack(("step", "aten::mm", "void k<int, 4>(int)"), 30), GpuStack(("copy H2D",), 5)]
    folded.write(stacks, tmp_path / "x.folded")
    assert read(tmp_path / "x.folded") == [
        (["step", "aten::mm", "void k<int, 4>(int)"], 30),
        (["copy H2D"], 5),
    ]


def test_no_name_ends_its_frame_or_its_line(tmp_path: Path) -> None:
    names = ("a;b 7\nc", "\x1b[31m", "", "\u2028x", "y" * 10_000)
    folded.write([GpuStack(names, 1), GpuStack(("no time",), 0)], tmp_path / "x.folded")
    assert read(tmp_path / "x.folded") == [
        (["a:b 7 c", "[31m", "(no name)", "x", "y" * 10_000], 1),
    ]
