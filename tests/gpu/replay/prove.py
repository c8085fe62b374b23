"""Capture and replay on a real NVIDIA GPU, through the command line alone: `python prove.py OUT.json [PART ...]`.

For each program: capture, info, reserve-check, verify, full-vm; then fresh processes, and the time of the replay
beside the time that the program measured itself. Then what watching costs, and how fast a snapshot is written.
Every check has its limit; the exit code is 1 if one fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

Step = Callable[[], dict[str, object]]
HERE = Path(__file__).parent
WORK = Path("/tmp/replay-proof")
APP = str(WORK / "app")
PERF = [sys.executable, "-m", "rocm_perf.cli.main"]
FRESH = 20
CASES = {  # name: command, kernel, dispatch, what the program calls its time
    "softmax, in place, third of five": ([APP, "softmax"], "softmax_in_place", 3, "softmax_in_place"),
    "pointers inside device structures": ([APP, "structures"], "scale_chain", 2, "scale_chain"),
    "__device__ and __constant__ variables": ([APP, "variables"], "polynomial", 1, "polynomial"),
    "cudaMallocAsync pool": ([APP, "pool"], "axpy", 2, "axpy"),
    "Triton": ([sys.executable, str(HERE / "model.py")], "add_kernel", 2, "add_kernel"),
    "torch softmax": ([sys.executable, str(HERE / "model.py")], "(?i)softmax", 2, "softmax"),
    "torch matrix product": ([sys.executable, str(HERE / "model.py")], "gemm|nvjet|cutlass", 4, "gemm"),
    "torch matrix product, bfloat16": (
        [sys.executable, str(HERE / "model.py"), "half"],
        "gemm|nvjet|cutlass",
        4,
        "gemm",
    ),
    "Triton, the same input each time": (
        [sys.executable, str(HERE / "model.py"), "same"],
        "add_kernel",
        5,
        "add_kernel",
    ),
    "four threads": ([APP, "threads"], "axpy", 301, ""),
    "no arguments": ([APP, "arguments"], "tick", 3, ""),
}


def perf(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PERF, *words], capture_output=True, text=True, timeout=120, check=False)


@cache
def unwatched(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def own_times(command: list[str], name: str) -> list[float]:
    """What the program measured, unwatched; the first run of a kernel is not like the others."""
    out = unwatched(*command)
    return [float(found) for found in re.findall(rf"^{name} (\d+) ns$", out, re.MULTILINE)][1:]


def replay_median(snapshot: Path, mode: str) -> float:
    done = perf("replay", "full-vm", str(snapshot), "--iterations", "100", mode, "--json")
    return float(json.loads(done.stdout)["timing"]["median_ns"])


def prove(name: str, command: list[str], kernel: str, dispatch: int, label: str) -> dict[str, object]:
    snapshot = WORK / re.sub(r"\W+", "-", name)
    taken = perf(
        "capture",
        "--kernel",
        kernel,
        "--dispatch",
        str(dispatch),
        "-o",
        str(snapshot),
        "--json",
        "--",
        *command,
    )
    if taken.returncode:
        return {"ok": False, "capture": taken.stderr[-800:]}
    report = json.loads(taken.stdout)
    info, reserve = (
        perf("replay", "info", str(snapshot), "--json"),
        perf("replay", "reserve-check", str(snapshot), "--json"),
    )
    verify = perf("replay", "verify", str(snapshot), "--json")
    timed = perf("replay", "full-vm", str(snapshot), "--iterations", "100", "--json")
    if timed.returncode or not verify.stdout or info.returncode:
        return {
            "ok": False,
            "reserve": reserve.returncode,
            "verify": verify.stderr[-500:],
            "full-vm": timed.stderr[-500:],
        }
    verdict, measured = json.loads(verify.stdout), json.loads(timed.stdout)
    timing = measured["timing"]
    others = {mode: replay_median(snapshot, mode) for mode in ("--no-recopy", "--cold-cache")}
    with ThreadPoolExecutor(8) as pool:
        words = ("replay", "full-vm", str(snapshot), "--iterations", "3")
        fresh = list(pool.map(lambda _: perf(*words).returncode, range(FRESH)))
    controls = {control["name"]: control["outcome"] for control in verdict["controls"]}
    ok = (
        reserve.returncode == 0
        and verify.returncode == 0
        and not any(fresh)
        and "passed" not in controls.values()
    )
    compared = beside_the_application(command, label, timing["median_ns"], others) if label else {}
    # Where what is restored about fills the cache, the tool says so; such a kernel in a loop is as with --no-recopy.
    close = [ratio for mode, ratio in compared.items() if mode == "default" or measured["cache_note"]]
    ok = ok and (not label or any(abs(ratio - 1) <= 0.05 for ratio in close))
    return {
        "ok": ok, "kernel": report["name"][:100], "dispatch": report["dispatch"], "launches": report["launches"],
        "regions": report["regions"], "raw_bytes": report["raw_bytes"], "stored_bytes": report["stored_bytes"],
        "changed_bytes": report["changed_bytes"], "seconds": report["seconds"], "uncovered": report["uncovered"],
        "reserve_check": reserve.returncode, "verify": verdict["verdict"], "verify_reason": verdict["reason"],
        "controls": controls, "fresh_processes": f"{fresh.count(0)} of {len(fresh)}",
        "replay_median_ns": timing["median_ns"],
        "replay_interval_ns": timing["interval_ns"], "clock": measured["clock"], "note": measured["cache_note"],
        "spoilt_bytes": verdict["spoilt_bytes"], "other_modes_ns": others, "times_of_the_application": compared,
        "application_ns": own_times(command, label) if label else [],
    }  # fmt: skip


def beside_the_application(
    command: list[str], label: str, default: float, others: dict[str, float]
) -> dict[str, float]:
    own = statistics.median(own_times(command, label))
    return {mode: median / own for mode, median in {"default": default, **others}.items()}


def refusals() -> dict[str, object]:
    """What must not be captured, and what was never launched."""
    wanted = {"managed": 25, "registered": 25, "shared": 25, "graph": 5}
    done = {
        name: perf("capture", "--kernel", "axpy", "-o", str(WORK / name), "--", APP, name) for name in wanted
    }
    done["none"] = perf("capture", "--kernel", "no_such_kernel", "-o", str(WORK / "none"), "--", APP, "pool")
    codes = {name: one.returncode for name, one in done.items()}
    named = "axpy" in done["none"].stderr and "graph" in done["graph"].stderr
    said = {name: one.stderr[-400:] for name, one in done.items()}
    return {"ok": codes == {**wanted, "none": 5} and named, "exit codes": codes, "said": said}


def new_code() -> dict[str, object]:
    """A kernel that is off by a ten-thousandth, one that is quicker and rounds otherwise, and the same one again."""
    source = (HERE / "app.cu").read_text()
    right = "row[at] /= partial[0];"
    assert right in source
    wrong = WORK / "wrong.cu"
    wrong.write_text(source.replace(right, "row[at] /= partial[0] * 1.0001f;"))
    builds = {"wrong": [str(wrong)], "fast": ["--use_fast_math", "-maxrregcount=24", str(HERE / "app.cu")]}
    for name, words in builds.items():
        command = ["nvcc", "-arch=native", "-O2", "-o", str(WORK / name), *words]
        subprocess.run(command, check=True, capture_output=True)
    snapshot = str(WORK / "new-code")
    # The first of five: it changes much. The third changes less than the tolerance, so nothing could be verified by it.
    perf("capture", "--kernel", "softmax_in_place", "--dispatch", "1", "-o", snapshot, "--", APP, "softmax")

    def judged(name: str, *words: str) -> Any:
        return json.loads(
            perf("replay", "verify", snapshot, "--cubin", str(WORK / name), *words, "--json").stdout
        )

    def paced(name: str) -> tuple[str, float]:
        found = json.loads(perf("replay", "compare", snapshot, "--cubin", str(WORK / name), "--json").stdout)
        return found["verdict"], found["speedup"]

    off, excused = judged("wrong"), judged("wrong", "--tolerance", "f32=0,1e-3")
    too_far, fast = judged("wrong", "--tolerance", "f32=0,1e-5"), judged("fast", "--tolerance", "f32=0,1e-5")
    paces = {name: paced(name) for name in ("fast", "app")}
    verdicts = [one["verdict"] for one in (off, excused, too_far, fast)]
    return {
        "ok": verdicts == ["different", "same within tolerance", "different", "same within tolerance"]
        and [pace for pace, _ in paces.values()] == ["better", "no difference shown"],
        "verdicts": verdicts,
        "first difference": off["new"]["differences"][0],
        "compared": paces,
    }


def reachable() -> dict[str, object]:
    """A kernel of torch with the memory that its arguments lead to, and no other."""
    snapshot = str(WORK / "reachable")
    command = [sys.executable, str(HERE / "model.py")]
    words = ["--kernel", "add_kernel", "--dispatch", "2", "--reachable-only", "--stop-after", "-o", snapshot]
    taken = perf("capture", *words, "--json", "--", *command)
    if taken.returncode:
        return {"ok": False, "capture": taken.stderr[-800:]}
    report = json.loads(taken.stdout)
    verdict = json.loads(perf("replay", "verify", snapshot, "--json").stdout)
    return {
        "ok": verdict["verdict"] == "same",
        "regions": report["regions"],
        "raw_bytes": report["raw_bytes"],
        "verify": verdict["verdict"],
    }


def library() -> str:
    from rocm_perf.replay import native

    return str(native.part("NVIDIA", "capture"))


def watching() -> dict[str, object]:
    """Wall of 20,000 launches, paced at 10,000 a second and flat out, unwatched and watched by turns."""
    watched = {
        "CUDA_INJECTION64_PATH": library(), "ROCM_PERF_CAPTURE_DIR": str(WORK / "watching"),
        "ROCM_PERF_CAPTURE_KERNEL": "no_such_kernel",
    }  # fmt: skip
    (WORK / "watching").mkdir(exist_ok=True)
    walls: dict[str, list[float]] = {}
    for _ in range(5):
        for pace in ({}, {"FLAT_OUT": "1"}):
            for extra in ({}, watched):
                out = subprocess.run(
                    [APP, "many"],
                    env={**os.environ, **pace, **extra},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                key = f"{'flat out' if pace else 'paced'}, {'watched' if extra else 'alone'}"
                walls.setdefault(key, []).append(float(re.findall(r"in ([\d.]+) s", out.stdout)[0]))
    median = {key: statistics.median(values) for key, values in walls.items()}
    cost_s = (median["flat out, watched"] - median["flat out, alone"]) / 20_000
    share = cost_s * 10_000  # of the wall at 10,000 launches a second
    return {
        "ok": share < 0.02,
        "median_s": median,
        "seconds_a_launch": cost_s,
        "share_at_10000_a_second": share,
    }


def speed() -> dict[str, object]:
    """A snapshot of 4 GiB of random numbers beside a plain copy to pinned memory and a write, by turns."""
    plain: dict[str, list[float]] = {"written": [], "on disk": []}
    ours: dict[str, list[dict[str, float]]] = {"raw": [], "compressed": []}
    stored = {}
    for turn in range(3):
        command = [str(WORK / "plain"), "4", str(WORK / "plain.bin")]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        plain["written"].append(float(re.findall(r"together ([\d.]+) s", out)[0]))
        plain["on disk"].append(float(re.findall(r"on disk after ([\d.]+) s", out)[0]))
        (WORK / "plain.bin").unlink()
        for kind, option in (("raw", ["--no-compress"]), ("compressed", [])):
            snapshot = WORK / f"speed{turn}"
            program = ["--", str(WORK / "plain"), "4"]
            taken = perf("capture", "--kernel", "touch", "-o", str(snapshot), *option, "--json", *program)
            report = json.loads(taken.stdout)
            ours[kind].append(report["seconds"])
            stored[kind] = report["stored_bytes"] / report["raw_bytes"]
            shutil.rmtree(snapshot)
    saving = statistics.median(one["before"] for one in ours["raw"])
    whole = {kind: statistics.median(sum(one.values()) for one in all_) for kind, all_ in ours.items()}
    written, on_disk = (statistics.median(plain[kind]) for kind in ("written", "on disk"))
    return {
        "ok": written / saving >= 0.6 and on_disk / whole["raw"] >= 0.6, "plain_s": plain, "seconds": ours,
        "saving beside copy and write": written / saving,
        "whole beside copy, write and sync": {kind: on_disk / value for kind, value in whole.items()},
        "stored_share": stored,
    }  # fmt: skip


def main() -> int:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    for name in ("app", "plain"):
        subprocess.run(
            ["nvcc", "-arch=native", "-O2", "-o", str(WORK / name), str(HERE / f"{name}.cu")], check=True
        )
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    results: dict[str, object] = {"date": time.strftime("%Y-%m-%d"), "gpu": gpu}
    steps: dict[str, Step] = {name: partial(prove, name, *case) for name, case in CASES.items()}
    steps |= {
        "new code": new_code,
        "reachable only": reachable,
        "refusals": refusals,
        "watching": watching,
        "speed": speed,
    }
    for name in sys.argv[2:] or steps:
        step = steps[name]
        begun = time.monotonic()
        try:
            results[name] = step()
        except (subprocess.SubprocessError, ValueError, KeyError, OSError) as error:
            results[name] = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        print(f"{time.monotonic() - begun:6.1f} s  {name}: {json.dumps(results[name])}", flush=True)
        Path(sys.argv[1]).write_text(json.dumps(results, indent=1) + "\n")
    return 0 if all(entry["ok"] for entry in results.values() if isinstance(entry, dict)) else 1


if __name__ == "__main__":
    sys.exit(main())
