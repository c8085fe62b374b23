"""Fuzzes sniffing and every adapter: whatever the bytes, the outcome is a Part or an error with a sentence.

    python tests/fuzz/run.py --seconds 60 [--adapter NAME] [--seed N] [--crashes FOLDER]

Coverage guides it where atheris is installed. See README.md here.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # many small inputs; and no threads when processes fork
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

if TYPE_CHECKING:
    from tests.fuzz.session import Target


def main(argv: Sequence[str] | None = None) -> int:
    """Exits with 1 when there is a finding, 2 when there is no such adapter."""
    args = _parser().parse_args(argv)
    atheris = _atheris()
    targets = _targets(args.adapter, atheris)
    if not targets:
        print(f"no adapter is called {args.adapter}; `rocm-perf formats` lists them", file=sys.stderr)
        return 2
    from tests.fuzz.session import Budget, fuzz  # not before its imports are instrumented

    crashes = Path(args.crashes or tempfile.mkdtemp(prefix="rocm-perf-crashes-"))
    crashes.mkdir(parents=True, exist_ok=True)
    print(f"{len(targets)} targets, {args.seconds:g} s, seed {args.seed}, findings go to {crashes}")
    for number, target in enumerate(targets):
        budget = Budget(args.seconds / len(targets), args.seed + 1000 * number, args.memory_mb)
        runs = fuzz(target, budget, crashes, atheris)
        found = len(list(crashes.glob(f"{target.name}_*.txt")))
        print(f"{target.name:32} {len(target.seeds):4} seeds {runs:8,} inputs {found:3} findings", flush=True)
    return _report(crashes)


def _targets(only: str | None, atheris: Any) -> list[Target]:
    """Sniffing first, then every adapter for which there is a seed."""
    silent = redirect_stderr(io.StringIO())  # atheris names every module it instruments
    with silent, atheris.instrument_imports(include=["rocm_perf"]) if atheris else nullcontext():
        from rocm_perf.ingest.sniff import adapters

        known = adapters()
    from tests.fuzz import corpus
    from tests.fuzz.session import Target

    seeds = {**corpus.made(), **corpus.specimens()}
    found = [Target("sniff", None, list(seeds.values()))] if only in (None, "sniff") else []
    with tempfile.TemporaryDirectory() as folder:
        for adapter in known:
            if only in (None, adapter.name):
                own = corpus.claimed(seeds, adapter, Path(folder) / "input")
                found.append(Target(adapter.name, adapter, own or list(seeds.values())))
    return found


def _atheris() -> Any | None:
    try:
        return importlib.import_module("atheris")
    except ImportError:
        print("atheris is not installed (pip install atheris): plain random changes, without coverage")
        return None


def _report(crashes: Path) -> int:
    findings = sorted(crashes.glob("*.txt"))
    for path in findings:
        lines = path.read_text().splitlines()
        print(f"FOUND {lines[0]}\n      {lines[-1][:200]}\n      {path.with_suffix('.input')}")
    if not findings:
        print("nothing found")
    return 1 if findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument(
        "--seconds", type=float, default=60, help="time for all targets together (default: 60)"
    )
    parser.add_argument("--adapter", help="fuzz this one alone, or `sniff`")
    parser.add_argument(
        "--seed", type=int, default=SystemRandom().randrange(10**6), help="for the same inputs again"
    )
    parser.add_argument("--crashes", help="folder for what was found (default: a temporary one)")
    parser.add_argument(
        "--memory-mb", type=int, default=512, help="allowed growth for one input (default: 512)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
