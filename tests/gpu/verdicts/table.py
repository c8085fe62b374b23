"""The table of docs/verdict-h200.md: what an expert says of each case, and what the tool says first.

python tests/gpu/verdicts/table.py FOLDER, which record.py filled
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.gpu.verdicts.catalogue import CASES, PLAIN
from tests.gpu.verdicts.judged import Judged, judged, recorded

_HEAD = "| program | what it is limited by | first finding | of both |\n|---|---|---|---|"


def row(verdicts: Sequence[Judged]) -> str:
    """One case; the title is that by the first recorder."""
    case, first = verdicts[0].case, verdicts[0].findings[0]
    right = ", ".join("**no**" if one.objections else "right" for one in verdicts)
    return f"| {case.name} | {case.verdict} | {first.title} | {right} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The verdicts on recorded programs; see the head of this file."
    )
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    print(_HEAD)
    for case in (*CASES, *PLAIN):
        if recorders := recorded(case, folder):
            print(row([judged(case, recorder, folder) for recorder in recorders]))


if __name__ == "__main__":
    main()
