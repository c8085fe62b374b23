"""Print the measured gains as a table: python tests/gpu/remedies/table.py [tests/data/h200/remedies]"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[3] / "tests/data/h200/remedies"


def spread(variant: dict[str, Any]) -> str:
    """Return the medians of each process, in units of work per second."""
    medians = [statistics.median(rates) * variant["items_per_step"] for rates in variant["processes"]]
    return ", ".join(f"{median:,.4g}" for median in medians)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    print("| program | variant | gain | saved | per second, in each process |\n|---|---|---:|---:|---|")
    for line in (folder / "cases.jsonl").read_text().splitlines()[1:]:
        case = json.loads(line)
        name = case["program"] + (" (kept back)" if case["kept_back"] else "")
        for variant, row in case["variants"].items():
            print(f"| {name} | {variant} | {row['gain']:.2f}x | {100 * row['saved']:.1f} % | {spread(row)} |")
            name = ""


if __name__ == "__main__":
    main()
