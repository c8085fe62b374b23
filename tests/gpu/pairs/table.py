"""The table of docs/whatif.md from what measure.py left in OUT: projected and measured savings, the first finding
beside what it should be, and findings that claim more than was measured.

python tests/gpu/pairs/table.py OUT
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.gpu.pairs.catalogue import PAIRS
from tests.gpu.pairs.outcome import Outcome, Walls, outcome, with_launch_cost
from tests.gpu.pairs.pair import Pair
from tests.gpu.pairs.results import APART, TRUTH, Row, Rows, failed, latest

from rocm_perf.api import load
from rocm_perf.units import format_share

Recorded = tuple[str, Outcome]  # with the recorder's name

_HEAD = (
    "program and change",
    "recorder",
    "measured per step",
    "projected in the steady state",
    "saved: measured, projected",
    "near",
    "first finding",
    "claimed",
)


def outcomes(pairs: Sequence[Pair], out: Path) -> Iterator[Recorded]:
    """Every recording in the folder whose pair was measured, in the order of the pairs."""
    rows = latest(out / "pairs.jsonl")
    for pair in pairs:
        measured = rows.get((pair.name, TRUTH))
        if measured is None:
            continue
        walls = Walls(*rows.get((pair.name, APART), measured)["medians_us"])
        for recorder, row in _recordings(rows, pair):
            recording = with_launch_cost(load(out / row["file"]), row.get("launch_cost_ns"))
            yield recorder, outcome(pair, recording, walls, measured["factor"])


def _recordings(rows: Rows, pair: Pair) -> Iterator[tuple[str, Row]]:
    return ((part, row) for (name, part), row in rows.items() if name == pair.name and "file" in row)


def problems(path: Path) -> list[str]:
    """What the table does not show: parts that failed, and pairs whose variants should compute the same and do not."""
    errors = [f"{pair}, {part}: {row['error']}" for (pair, part), row in failed(path).items()]
    different = [pair for (pair, _), row in latest(path).items() if row.get("same") is False]
    return [*errors, *(f"{pair}: the variants compute different results" for pair in different)]


def markdown(recorded: Sequence[Recorded]) -> str:
    """The table, and below it how many of the recordings hold what they should."""
    lines = [f"| {' | '.join(_HEAD)} |", "|---|---|---:|---:|---:|---|---|---|"]
    lines += [f"| {' | '.join(_cells(recorder, one))} |" for recorder, one in recorded]
    return "\n".join([*lines, "", _summary([one for _, one in recorded])])


def _cells(recorder: str, one: Outcome) -> tuple[str, ...]:
    saved = one.projected.saved if one.projected else 0.0
    return (
        one.pair.title,
        recorder,
        f"{one.measured.before / 1e3:.2f} -> {one.measured.after / 1e3:.2f} ms",
        _projected(one),
        f"{format_share(one.measured.saved)}, {format_share(saved)}",
        "yes" if one.is_near else "**no**",
        _first(one),
        f"**{format_share(one.claimed)}**" if one.claims_too_much else format_share(one.claimed),
    )


def _projected(one: Outcome) -> str:
    """The walls, and how many steps they are of."""
    if one.projected is None:
        return "nothing to change"
    steps = f"{one.steps} steps" if one.steps else "**no steps found**"
    return f"{one.projected.before / 1e6:.1f} -> {one.projected.after / 1e6:.1f} ms, {steps}"


def _first(one: Outcome) -> str:
    kind = one.findings[0].kind or "a doubt" if one.findings else "none"
    return kind if one.is_expected else f"**{kind}**, not {one.pair.kinds[0]}"


def _summary(every: Sequence[Outcome]) -> str:
    near, expected, over = (
        sum(getattr(one, name) for one in every) for name in ("is_near", "is_expected", "claims_too_much")
    )
    return (
        f"Of {len(every)} recordings, {near} project what was measured (within 10 % of the saving or 3 % of the steady "
        f"state), {expected} have the right first finding, and {over} claim more than was measured."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="The table of docs/whatif.md; see the head of this file.")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    results = args.out / "pairs.jsonl"
    if not results.exists():
        parser.error(f"{results} does not exist: measure.py writes it")
    print(markdown(list(outcomes(PAIRS, args.out))))
    for problem in problems(results):
        print(problem, file=sys.stderr)
    return 1 if problems(results) else 0


if __name__ == "__main__":
    sys.exit(main())
