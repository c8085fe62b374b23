"""What holds for the whole answer about any recording: nothing is more than all of itself without saying so, at most
ten findings, and parts sum to their whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity

ROUNDING = 1e-9


def parts(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value in a document with its place."""
    yield path, value
    if isinstance(value, msgspec.Struct) and not isinstance(value, Quantity):
        for name in value.__struct_fields__:
            yield from parts(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from parts(entry, f"{path}.{name}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for entry in value:
            yield from parts(entry, path)


def too_much(path: str, value: object) -> bool:
    """More than all: a share above 1 or a percentage above 100 that is not doubted."""
    name = path.rpartition(".")[2]
    if isinstance(value, Quantity):
        if value.value is None or value.doubt:
            return False
        share = _is_share(name) or name in ("busy", "empty", "starved", "issued")
        most = 100 if "percent" in name or value.unit == "%" else 1 if share else None
        return most is not None and not -ROUNDING <= value.value <= most * (1 + ROUNDING)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and _is_share(name) and not -ROUNDING <= value <= 1 + ROUNDING  # type: ignore[operator]


def _is_share(name: str) -> bool:
    return name.endswith("share") or name in ("critical_path_score", "score")


def check_answer(document: Document) -> None:
    """What holds for any recording."""
    assert [path for path, value in parts(document) if too_much(path, value)] == []
    assert len(document.findings) <= 10
    assert [finding.id for finding in document.findings if finding.kind is None] == []
    stakes = [finding.time_at_stake_ns or 0 for finding in document.findings]
    assert max(stakes, default=0) <= max(document.wall_ns or 0, document.hotspots.total_ns)
    assert all(finding.evidence for finding in document.findings)
    assert document.path.total_ns == document.path.wall_ns
    assert sum(document.path.by_kind.values()) == document.path.total_ns
    assert sum(row.total_ns for row in document.gaps.causes) == document.gaps.idle_ns
    assert document.gaps.idle_ns == sum(device.idle_ns for device in document.devices)
    for kernel in document.path.by_kernel:
        assert kernel.slack_min_ns >= 0
        assert 0 <= kernel.impact_ns <= document.path.wall_ns
    for work in document.layers.rows:
        inside = sum(stack.total_ns for stack in work.stacks)
        assert math.isclose(inside + work.outside_ns + work.beside_ns, work.total_ns)
    for projection in document.projections:
        assert projection.wall_ns > 0


def fits(line: str, width: int) -> bool:
    """Whether a line of the screen fits; a path in a command to copy may be longer, on a line of its own."""
    return len(line) <= width or len(line.removesuffix(" \\").split()) == 1
