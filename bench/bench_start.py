"""How long `rocm-perf --version` takes, compared with the interpreter alone; the target is under 150 ms.

python bench/bench_start.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.measure import Case, Result, interleaved, machine

TARGET_MS = 150
INTERPRETER, OURS = "python -c pass", "rocm-perf --version"
_ENTRY = "import sys; from rocm_perf.cli.main import main; sys.exit(main())"
_SOURCE = Path(__file__).parents[1] / "src"


def cases() -> tuple[Case, Case]:
    """The interpreter, and the installed command or, in a checkout, its entry point."""
    installed = Path(sys.executable).with_name("rocm-perf")
    program = [str(installed)] if installed.exists() else [sys.executable, "-c", _ENTRY]
    path = os.pathsep.join(filter(None, (str(_SOURCE), os.environ.get("PYTHONPATH"))))
    env = {} if installed.exists() else {"PYTHONPATH": path}
    return Case(INTERPRETER, [sys.executable, "-c", "pass"]), Case(OURS, [*program, "--version"], env)


def table(results: Sequence[Result]) -> str:
    """Medians in milliseconds, as a Markdown table."""
    lines = ["| | runs | median | fastest | slowest |", "|---|---:|---:|---:|---:|"]
    for result in results:
        times = (result.median_s, *result.spread_s)
        cells = " | ".join(f"{1000 * seconds:.0f} ms" for seconds in times)
        lines.append(f"| `{result.name}` | {len(result.samples)} | {cells} |")
    return "\n".join(lines)


def main() -> int:
    """Measure both and print the table; returns 1 if the target is missed or a command failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=21, help="runs of each command (default: 21)")
    results = interleaved(cases(), parser.parse_args().rounds)
    for result in results:
        if result.failed:
            print(f"{result.name}: {result.samples[-1].error.strip()}", file=sys.stderr)
            return 1
    print(f"{machine()['cpu']}, {machine()['cores']} cores, Python {machine()['python']}\n")
    print(table(results))
    median_ms = 1000 * results[-1].median_s
    verdict = "met" if median_ms < TARGET_MS else "missed"
    print(f"\nThe target of {TARGET_MS} ms is {verdict}.")
    return 0 if verdict == "met" else 1


if __name__ == "__main__":
    sys.exit(main())
