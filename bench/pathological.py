"""What legal and unkind recordings cost: `analyze --json` on each, in a process of its own, at a size and at four times
that size. A cost that grows with the square of the size would be sixteen times as high.

python bench/pathological.py [--scale 1.0] [--only TEXT]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import measure
from bench.pathological_inputs import WRITERS

SIZES = {
    "ranges nested in one another": 10_000,
    "distinct kernel names": 20_000,
    "characters in one kernel name": 2_500_000,
    "characters in one mangled name": 2_500_000,
    "operators of depth 1": 250_000,
    "calls open at once": 250_000,
    "waits on a thousand threads and streams": 5_000,
}
USUAL_SIZE = 25_000
TIMES = 4


def main() -> int:
    """Prints the table as it is measured; exit code 1 when an analysis failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes (default %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="inputs whose name contains it")
    options = parser.parse_args()
    print("| input | n | CPU | peak memory | 4 n | CPU | peak memory | CPU grows |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    failed = False
    for name in WRITERS:
        if options.only in name:
            size = int(options.scale * SIZES.get(name, USUAL_SIZE))
            small, large = _measured(name, size), _measured(name, TIMES * size)
            failed |= bool(small.exit_code or large.exit_code)
            cells = (name, *_cells(size, small), *_cells(TIMES * size, large), _growth(small, large))
            print(f"| {' | '.join(cells)} |", flush=True)
    return int(failed)


def _measured(name: str, size: int) -> measure.Sample:
    with tempfile.TemporaryDirectory() as folder:
        file = WRITERS[name](Path(folder, "recording"), size)
        return measure.run(measure.analyze(name, file))


def _cells(size: int, sample: measure.Sample) -> tuple[str, ...]:
    if sample.exit_code:
        return f"{size:,}", f"exit code {sample.exit_code}", ""
    return f"{size:,}", f"{sample.cpu_s:.1f} s", f"{sample.peak_rss_bytes / 1e9:.2f} GB"


def _growth(small: measure.Sample, large: measure.Sample) -> str:
    return "" if small.exit_code or large.exit_code else f"{large.cpu_s / small.cpu_s:.1f} times"


if __name__ == "__main__":
    sys.exit(main())
