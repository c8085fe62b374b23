"""The first finding beside the labels of people who read recordings event by event, without any analysis.

`labels/own.*.toml` are about recordings that are at hand; `tracelens` and `public` name public ones, which are fetched
by hand (docs/verdict.md). Of each list one half was put aside until the rules were done.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomli

from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.load import load_files

pytestmark = pytest.mark.whole

HERE = Path(__file__).parent / "labels"
ROOT = HERE.parents[2]
FEWEST = {"own.seen": 21, "own.kept": 19}  # of 22 each: experts differ, too


def labels(name: str) -> list[dict[str, Any]]:
    """The labels of one file."""
    rows: list[dict[str, Any]] = tomli.loads((HERE / f"{name}.toml").read_text())["recording"]
    return rows


def objections(row: dict[str, Any], shared: Path) -> list[str]:
    """What of the first finding is not as the label wants it."""
    files = [found(name, shared) for name in (row["path"], *row.get("also", ()))]
    run = next((run for run in load_files(files) if run.trace), None)
    findings = examine(run.trace, row["path"]).findings if run and run.trace else ()
    if not findings:
        return ["nothing is said"]
    first = findings[0]
    text = " | ".join((first.title, *first.evidence, first.remedy))
    kinds = (row["kind"], *row.get("also_ok", ()))
    wrong = [] if first.kind in kinds else [f"{first.kind} is none of {', '.join(kinds)}"]
    wrong += [f"{name!r} is not named" for name in row["names"] if not re.search(name, text)]
    if said := re.search(row["never"], text, re.IGNORECASE):
        wrong.append(f"{said[0]!r} is said")
    return wrong


def found(name: str, shared: Path) -> Path:
    """Where the recording of a label is."""
    first, _, rest = name.partition("/")
    return shared / rest if first == "shared" else ROOT / name


@pytest.mark.parametrize("name", FEWEST)
def test_the_first_finding_is_what_the_label_wants(specimens: Path, name: str) -> None:
    against = {row["path"]: objections(row, specimens.parent) for row in labels(name)}
    wrong = {path: said for path, said in against.items() if said}
    assert len(against) - len(wrong) >= FEWEST[name], "\n".join(
        f"{path}: {said}" for path, said in wrong.items()
    )


@pytest.mark.parametrize("file", sorted(HERE.glob("*.toml")), ids=lambda file: file.stem)
def test_every_label_is_whole(file: Path) -> None:
    for row in labels(file.stem):
        assert row["path"]
        assert row["verdict"]
        assert row["kind"]
        for pattern in (*row["names"], row["never"]):
            re.compile(pattern)
