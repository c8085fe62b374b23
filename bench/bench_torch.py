"""Load and analyse a torch.profiler trace of a million events: the floor, rocm-perf, and (where asked)
HolisticTraceAnalysis, interleaved, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import make_trace, measure

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
DATA = BENCH / "data"
HTA_VENV = BENCH / ".venv-hta"
HTA_REQUIREMENTS = BENCH / "requirements-hta.txt"
FLOOR, OURS, HTA = "floor", "rocm-perf", "HTA"


def trace_of(events: int) -> Path:
    """The trace to read, made on first use, in a child: this process has to stay small (see measure.run)."""
    source = "resnet" if make_trace.SPECIMEN.is_file() else "synthetic"
    trace = DATA / f"{source}-{events}.json.gz"
    if not trace.is_file():
        command = [sys.executable, str(BENCH / "make_trace.py"), "-o", str(trace), "--events", str(events)]
        subprocess.run(command, check=True)
    return trace


def hta_python() -> Path:
    """The interpreter of HTA's virtual environment, made on first use."""
    python = HTA_VENV / "bin" / "python"
    marker = HTA_VENV / "installed.txt"
    wanted = HTA_REQUIREMENTS.read_text()
    if not marker.is_file() or marker.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(HTA_VENV)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "-r", str(HTA_REQUIREMENTS)], check=True
        )
        marker.write_text(wanted)
    return python


def cases(trace: Path, hta_rounds: int, report: Path) -> Iterator[measure.Case]:
    """What is measured, in the order of a round."""
    yield measure.Case(FLOOR, [sys.executable, str(BENCH / "floor.py"), str(trace)])
    yield measure.analyze(OURS, trace)
    if hta_rounds:
        command = [
            str(hta_python()),
            str(BENCH / "peers" / "hta_run.py"),
            str(trace),
            "--report",
            str(report),
        ]
        yield measure.Case(HTA, command, rounds=hta_rounds)


def versions(peer: dict[str, Any]) -> dict[str, str]:
    """The versions of what was measured."""
    ours = re.search(r'__version__ = "(.+)"', (ROOT / "src" / "rocm_perf" / "version.py").read_text())
    libraries = {name: metadata.version(name) for name in ("msgspec", "isal", "polars")}
    return {OURS: ours[1] if ours else "unknown", **libraries, **peer.get("versions", {})}


def describe(trace: Path, peer: dict[str, Any]) -> str:
    """One paragraph: the input, the machine, the versions."""
    host = measure.machine()
    parts = [
        f"{trace.name}, {trace.stat().st_size / 1e6:.1f} MB",
        f"{host['cpu']}, {host['cores']} cores, {int(host['memory_bytes']) / 1e9:.0f} GB",
        str(host["system"]),
        f"Python {host['python']}",
        *(f"{name} {version}" for name, version in versions(peer).items()),
    ]
    return "; ".join(parts)


def peer_steps(peer: dict[str, Any]) -> str:
    """How each analysis of HTA went, a line each: a crash is shown, and so is an empty answer."""
    lines = []
    for name, step in peer.get("steps", {}).items():
        result = (
            f", {step['rows']} rows"
            if "rows" in step
            else f", crashed: {step['error']}"
            if "error" in step
            else ""
        )
        lines.append(f"- {HTA} {name}: {step['seconds']:.1f} s{result}")
    return "\n".join(lines)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="about how many (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default %(default)s)")
    parser.add_argument(
        "--with-hta", action="store_true", help="measure HTA too (installs it in bench/.venv-hta)"
    )
    parser.add_argument("--hta-rounds", type=int, help="runs of HTA, where fewer than --rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw samples there")
    return parser.parse_args()


def main() -> int:
    """Runs the bench; exit code 1 when the floor or rocm-perf failed."""
    chosen = options()
    hta_rounds = (
        0 if not chosen.with_hta else chosen.rounds if chosen.hta_rounds is None else chosen.hta_rounds
    )
    trace = trace_of(chosen.events)
    report = DATA / "hta-report.json"
    report.unlink(missing_ok=True)
    results = measure.interleaved(list(cases(trace, hta_rounds, report)), chosen.rounds)
    peer = json.loads(report.read_text()) if report.is_file() else {}
    print(measure.markdown(results, FLOOR), describe(trace, peer), peer_steps(peer), sep="\n\n")
    if chosen.json:
        facts = {"trace": trace.name, "machine": measure.machine(), "versions": versions(peer)}
        samples = measure.as_json(results)
        chosen.json.write_text(json.dumps({**facts, "samples": samples, "hta": peer}, indent=2) + "\n")
    return int(any(result.failed for result in results if result.name != HTA))


if __name__ == "__main__":
    sys.exit(main())
