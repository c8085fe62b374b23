"""The checks of profile_h200.sh. Usage: profile_h200.py FOLDER_WITH_THE_PROGRAMS ANSWER.json
[PART ...]."""

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
from pathlib import Path
from typing import Any

import polars as pl

import rocm_perf
from rocm_perf.backends.base import Wish
from rocm_perf.backends.nvidia.counters import metric_sets, ncu_metrics
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.probe import probe_machine
from rocm_perf.model.trace import Trace

HERE = Path(__file__).parent
ROCM_PERF = (sys.executable, "-m", "rocm_perf.cli.main")
TRACE = Wish(domains=("kernel", "hip", "copy", "marker", "allocation"))
REPEATS = 5


class Report:
    """Every number, and whether it is within its tolerance."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.numbers: dict[str, Any] = {}
        self.checks: list[dict[str, Any]] = []

    def equal(self, name: str, found: Any, expected: Any) -> None:
        self.checks.append({"check": name, "found": found, "expected": expected, "ok": found == expected})

    def near(self, name: str, found: float, expected: float, tolerance: float) -> None:
        off = abs(found - expected) / abs(expected) if expected else abs(found)
        entry = {"check": name, "found": found, "expected": expected, "off": off, "tolerance": tolerance}
        self.checks.append({**entry, "ok": off <= tolerance})

    def below(self, name: str, found: float, limit: float) -> None:
        self.checks.append({"check": name, "found": found, "limit": limit, "ok": found <= limit})

    def section(self, name: str, run: Callable[[Report], None]) -> None:
        """One part; if it breaks, the others still run."""
        start = time.monotonic()
        try:
            run(self)
        except (
            OSError,
            ValueError,
            KeyError,
            AssertionError,
            rocm_perf_error(),
            pl.exceptions.PolarsError,
        ) as error:
            self.checks.append(
                {"check": name, "ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
            )
        self.numbers[f"{name}_wall_s"] = round(time.monotonic() - start, 3)
        self.save()
        print(f"{name}: {self.numbers[f'{name}_wall_s']} s", file=sys.stderr)

    def save(self) -> None:
        """After each part, so that an end in the middle leaves what is known."""
        failed = [check["check"] for check in self.checks if not check["ok"]]
        answer = {"passed": self.passed, "failed": failed, "checks": self.checks, **self.numbers}
        self.path.write_text(json.dumps(answer, indent=1) + "\n")

    @property
    def passed(self) -> bool:
        return all(check["ok"] for check in self.checks)


def rocm_perf_error() -> type[Exception]:
    from rocm_perf.errors import RocmPerfError

    return RocmPerfError


def profile(folder: Path, *words: str) -> tuple[dict[str, Any], Trace, subprocess.CompletedProcess[str]]:
    """`rocm-perf profile`: what the application printed, the trace, and the finished process."""
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run(
        [*ROCM_PERF, "profile", "-d", str(folder), *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-1500:]}"
    said = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    return json.loads(said), rocm_perf.load(folder), done


def kernel_time_ms(trace: Trace, name: str) -> float:
    of_name = trace.table("dispatches").filter(pl.col("kernel").str.contains(name))
    return float((of_name["end_ns"] - of_name["start_ns"]).sum()) / 1e6


def cuda_program(work: Path) -> Callable[[Report], None]:
    def run(report: Report) -> None:
        truth, trace, done = profile(work / "app", "--preset", "sys", "--", str(work / "cuda_app"))
        report.numbers["cuda_app"] = truth
        report.numbers["cuda_app_said"] = done.stderr[-3000:]
        kernels = trace.table("dispatches")["kernel"]
        for name in ("long_kernel", "dependent_kernel", "tiny_kernel"):
            report.equal(f"launches of {name}", int(kernels.str.contains(name).sum()), truth[name])
        # The events cover the first 20 of the long kernels.
        longest = (
            trace.table("dispatches").filter(pl.col("kernel").str.contains("long_kernel")).sort("start_ns")
        )
        first = longest.head(truth["long_kernel"] - truth["dependent_steps"])
        total = float((first["end_ns"] - first["start_ns"]).sum()) / 1e6
        report.near("time of the long kernels, ms, against CUDA events", total, truth["long_ms"], 0.05)
        copies = trace.table("copies")
        for kind, key in (("H2D", "h2d"), ("D2H", "d2h"), ("MEMSET", "memset")):
            of_kind = copies.filter(pl.col("kind") == kind)
            report.equal(f"copies {kind}", of_kind.height, truth[key])
            report.equal(
                f"bytes of each {kind}", of_kind["size_bytes"].unique().to_list(), [truth["copy_bytes"]]
            )
        ranges = trace.table("ranges").filter(pl.col("source") == "nvtx")["name"]
        report.equal(
            "NVTX dependent steps", int((ranges == "dependent step").sum()), truth["dependent_steps"]
        )
        report.equal("NVTX mark", int((ranges == "before the tiny kernels").sum()), 1)
        taken = trace.table("allocations").filter(pl.col("operation") == "ALLOC")["size_bytes"].to_list()
        report.equal("cudaMalloc sizes are recorded", {truth["copy_bytes"], 256} <= set(taken), True)
        waits = (
            trace.table("links").filter(pl.col("kind") == "event") if trace.has("links") else pl.DataFrame()
        )
        report.equal("stream waits with their streams", waits.height, truth["dependent_steps"])
        report.equal("every wait is for another stream", _crossing(waits), truth["dependent_steps"])
        pairing(report, trace, "cuda_app")
        agent = trace.table("agents").row(0, named=True)
        report.numbers["agent"] = {key: value for key, value in agent.items() if value is not None}
        report.equal("the GPU has a name, SMs, memory and a UUID", _described(agent), True)

    return run


def _crossing(waits: pl.DataFrame) -> int:
    return waits.filter(pl.col("cause_track") != pl.col("effect_track")).height if waits.height else 0


def _described(agent: dict[str, Any]) -> bool:
    return all(agent[key] for key in ("gfx", "name", "cu_count", "memory_bytes", "uuid", "clock_mhz"))


def pairing(report: Report, trace: Trace, name: str) -> None:
    coverage = rocm_perf.analyze(trace).coverage
    report.numbers[f"{name}_coverage"] = {
        key: getattr(coverage, key) for key in ("launched", "dispatched", "paired", "lost_records")
    }
    report.equal(f"{name}: every kernel has its launch", coverage.paired, coverage.dispatched)
    report.equal(f"{name}: nothing was lost", coverage.lost_records, 0)
    launches = trace.table("api_calls").filter(pl.col("name").str.contains("Launch"))
    ids = launches["correlation_id"].drop_nulls()
    report.equal(f"{name}: launches are recorded once", ids.n_unique(), len(ids))
    report.numbers[f"{name}_calls"] = dict(
        trace.table("api_calls").group_by("name").len().sort("len", descending=True).head(12).iter_rows()
    )


def windows(work: Path) -> Callable[[Report], None]:
    """Parts of a run: by a range, by the clock, and the last seconds."""

    def run(report: Report) -> None:
        app = str(work / "cuda_app")
        _, trace, _ = profile(work / "range", "--range", "dependent step", "--steps", "3..5", "--", app)
        kernels = trace.table("dispatches")["kernel"]
        for name in ("long_kernel", "dependent_kernel"):
            report.equal(f"{name} in three of the ranges", int(kernels.str.contains(name).sum()), 3)
        report.equal("nothing else is in the window", kernels.len(), 6)
        pairing(report, trace, "in a range")
        paced = (app, "60000", "10000")  # six seconds of tiny kernels
        _, trace, _ = profile(work / "period", "--delay", "2", "--duration", "1.5", "--", *paced)
        report.near("seconds recorded of 1.5", seconds(trace), 1.5, 0.1)
        pairing(report, trace, "in a period")
        _, trace, _ = profile(work / "ring", "--last", "2", "--", *paced)
        report.equal("a ring keeps 2 to 2.5 s", 1.8 < seconds(trace) < 2.6, True)
        pairing(report, trace, "in a ring")
        report.numbers["seconds in the ring"] = seconds(trace)

    return run


def seconds(trace: Trace) -> float:
    kernels = trace.table("dispatches")
    return float(kernels.select(pl.col("end_ns").max() - pl.col("start_ns").min()).item()) / 1e9


def torch_model(work: Path) -> Callable[[Report], None]:
    def run(report: Report) -> None:
        script = str(HERE / "model.py")
        done = subprocess.run(
            [sys.executable, script, "--truth"], capture_output=True, text=True, timeout=300, check=True
        )
        truth = json.loads(done.stdout.splitlines()[-1])
        _, plain, done = profile(work / "plain", "--", sys.executable, script)
        report.numbers["model_said"] = done.stderr[-3000:]
        report.equal(
            "a plain `rocm-perf profile` records the model's kernels", plain.rows("dispatches") > 0, True
        )
        said, trace, _ = profile(work / "model", "--preset", "sys", "--", sys.executable, script)
        report.numbers["model"] = {"truth": truth, "profiled": said}
        steps = trace.table("ranges").filter(pl.col("name") == "step").height
        report.equal("NVTX ranges of torch, 3 of them warm-up", steps, truth["steps"] + 3)
        window = trace.table("ranges").filter(pl.col("name") == "measured").row(0, named=True)
        calls = trace.table("api_calls").filter(
            pl.col("start_ns").is_between(window["start_ns"], window["end_ns"])
        )
        kernels = trace.table("dispatches").join(
            calls.select("correlation_id"), on="correlation_id", how="semi"
        )
        total = float((kernels["end_ns"] - kernels["start_ns"]).sum()) / 1e6
        report.equal("kernels of 20 steps, against torch.profiler", kernels.height, truth["kernels"])
        report.near("their time, ms, against torch.profiler", total, truth["kernels_ms"], 0.05)
        report.near("their time, ms, against CUDA events of the run", total, said["events_ms"], 0.05)
        pairing(report, trace, "model")

    return run


def softmax_counters(work: Path) -> Callable[[Report], None]:
    def run(report: Report) -> None:
        words = ("--profiler", "ncu", "--counters", "counters_extended", "--", str(work / "softmax_exact"))
        truth, trace, _ = profile(work / "softmax", *words)
        kernel = next(
            k for k in rocm_perf.analyze(trace).roofline.kernels if k.kernel.startswith("softmax_exact")
        )
        report.numbers["softmax"] = {"truth": truth, "time_ns": kernel.time_ns.value}
        values = dict(trace.table("counters").select("counter", "value").iter_rows())
        report.numbers["softmax_counters"] = {
            name: value
            for name, value in values.items()
            if name in ncu_metrics(("counters_extended",), "sm_90")
        }
        report.near("FLOPs against the source", kernel.flops.value or 0, truth["flops"], 0.05)
        both = truth["read_bytes"] + truth["written_bytes"]
        report.near("bytes of the memory against the source", kernel.bytes.value or 0, both, 0.05)
        report.near("bytes read", values["dram__bytes_read.sum"], truth["read_bytes"], 0.05)
        report.near("bytes written", values["dram__bytes_write.sum"], truth["written_bytes"], 0.05)
        stored = values["l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum"]
        report.near("bytes stored by the kernel, at the L1", stored, truth["written_bytes"], 0.01)
        loaded = values["l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"]
        report.near(
            "bytes loaded by the kernel, at the L1: three times", loaded, 3 * truth["read_bytes"], 0.01
        )

    return run


def metric_names(report: Report) -> None:
    """Every metric of our sets is one that this ncu knows on this chip."""
    chip = "gh100"
    done = subprocess.run(
        ["ncu", "--query-metrics", "--chip", chip], capture_output=True, text=True, timeout=120, check=False
    )
    known = set(re.findall(r"^(\w+__\w+)", done.stdout, re.MULTILINE))
    report.numbers["ncu_knows"] = len(known)
    ours = {name.partition(".")[0] for each in metric_sets() for name in ncu_metrics((each,), "sm_90")}
    report.equal("metrics of our sets that ncu does not know", sorted(ours - known), [])


def exit_codes(work: Path) -> Callable[[Report], None]:
    def run(report: Report) -> None:
        for profiler, code, app in (
            ("cupti", 7, f"{work}/cuda_app 10"),
            ("ncu", 137, f"{work}/softmax_exact"),
        ):
            words = [*ROCM_PERF, "profile", "-d", str(work / f"{profiler}{code}"), "--profiler", profiler]
            done = subprocess.run(
                [*words, "--", "sh", "-c", f"{app} > /dev/null; exit {code}"],
                capture_output=True,
                timeout=120,
                check=False,
            )
            report.equal(f"exit code {code} under {profiler}", done.returncode, code)

    return run


def overhead(work: Path) -> Callable[[Report], None]:
    """Medians of interleaved runs, without the tracer and with it; of the process, and of what it timed itself."""

    def run(report: Report) -> None:
        machine = probe_machine()
        profiler = CuptiProfiler()
        profiler.prepare(machine)
        programs = {
            "cuda_app at 10,000 launches a second": ((str(work / "cuda_app"), "20000", "10000"), "tiny_s"),
            "cuda_app at full speed": ((str(work / "cuda_app"), "100000", "1e9"), "tiny_s"),
            "model.py": ((sys.executable, str(HERE / "model.py")), "events_ms"),
        }
        for name, (app, key) in programs.items():
            added = profiler.command(TRACE, app, work / "overhead", machine).environment
            walls: dict[str, list[float]] = {"without": [], "with": []}
            inner: dict[str, list[float]] = {"without": [], "with": []}
            for _ in range(REPEATS if app[0] != sys.executable else 3):  # torch starts slowly
                for kind, environment in (("without", {}), ("with", added)):
                    start = time.monotonic()
                    done = subprocess.run(
                        app, env={**os.environ, **environment}, capture_output=True, text=True, check=True
                    )
                    walls[kind].append(time.monotonic() - start)
                    inner[kind].append(json.loads(done.stdout.splitlines()[-1])[key])
            report.numbers[f"overhead: {name}"] = {
                "wall_s": {kind: statistics.median(times) for kind, times in walls.items()},
                key: {kind: statistics.median(times) for kind, times in inner.items()},
            }
            if name != "cuda_app at full speed":  # that one is only told
                slower = statistics.median(inner["with"]) / statistics.median(inner["without"]) - 1
                report.below(f"overhead of {name}", slower, 0.05)
        paced = rocm_perf.load(sorted((work / "overhead").rglob("*.rptrace"))[0])
        report.equal("no record was dropped", paced.run.losses, ())

    return run


def main() -> int:
    work = Path(sys.argv[1])
    report = Report(Path(sys.argv[2]))
    parts = {
        "cuda_app": cuda_program(work),
        "torch_model": torch_model(work),
        "windows": windows(work),
        "softmax": softmax_counters(work),
        "metric_names": metric_names,
        "exit_codes": exit_codes(work),
        "overhead": overhead(work),
    }
    for name in sys.argv[3:] or parts:
        report.section(name, parts[name])
    print(report.path.read_text(), end="")
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
