"""Parts of a run, recorded by the injected recorder with a real torch (CPU): `make test-torch`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from rocm_perf.backends.base import TorchOptions, Wish
from rocm_perf.backends.injected import INJECTED
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.torch import TorchProfiler
from rocm_perf.ingest.load import load
from rocm_perf.model.window import PROFILER_CALLS, Window

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

from tests.with_torch.test_injection import ALL, TRAIN, Bench

# One operator a number: three ranges, and something outside of them.
RANGES = """
import sys, torch
from torch.profiler import record_function
for _ in range(3):
    torch.ones(2).mul(2)
    with record_function("step"):
        torch.ones(2).add(1)
        with record_function("inner"):
            torch.ones(2).sub(1)
print("done")
"""


class Windows(Bench):
    """A folder in which programs run with a window."""

    window = Window()

    def variables(self) -> dict[str, str]:
        wish = Wish(window=self.window)
        return TorchProfiler().command(wish, ("python",), self.output, Machine(host="here")).environment

    def environment(self, options: TorchOptions = ALL, **more: str) -> dict[str, str]:
        return {**super().environment(options, **more), **self.variables()}

    def total(self, name: str) -> int:
        return sum(self.named(name, number) for number in range(len(self.files)))


@pytest.fixture
def bench(tmp_path: Path) -> Windows:
    return Windows(tmp_path)


def test_only_while_the_range_is_open(bench: Windows) -> None:
    bench.window = Window(range="step")
    done = bench.python(bench.write("ranges.py", RANGES))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert len(bench.files) == 3
    assert (bench.total("aten::add"), bench.total("aten::sub"), bench.total("aten::mul")) == (3, 3, 0)
    assert load(bench.output, as_one=True).table("ranges").filter(name="step").height == 3


def test_only_some_openings(bench: Windows) -> None:
    bench.window = Window(range="inner", steps=(2, 3))
    bench.python(bench.write("ranges.py", RANGES))
    assert (bench.total("aten::add"), bench.total("aten::sub")) == (0, 2)


def test_a_range_of_annotate_and_nested_ones_open_once(bench: Windows) -> None:
    bench.window = Window(range="part", steps=(1, 1))
    script = """
        import rocm_perf, torch
        with rocm_perf.annotate("part"):
            with rocm_perf.annotate("part"):
                torch.ones(2).add(1)
            torch.ones(2).sub(1)
        with rocm_perf.annotate("part"):
            torch.ones(2).mul(2)
    """
    bench.python(bench.write("nested.py", script))
    assert (bench.total("aten::add"), bench.total("aten::sub"), bench.total("aten::mul")) == (1, 1, 0)


def test_a_range_of_nvtx(bench: Windows) -> None:
    """This torch is built without NVTX: a stand-in takes its calls."""
    bench.window = Window(range="step")
    script = """
        import torch, types
        torch.cuda.nvtx._nvtx = types.SimpleNamespace(rangePushA=lambda name: 0, rangePop=lambda: 0)
        torch.ones(2).mul(2)
        with torch.cuda.nvtx.range("step"):
            torch.ones(2).add(1)
        torch.cuda.nvtx.range_push("other")
        torch.ones(2).mul(2)
        torch.cuda.nvtx.range_pop()
    """
    done = bench.python(bench.write("nvtx.py", script))
    assert (done.returncode, done.stderr) == (0, "")
    assert (bench.total("aten::add"), bench.total("aten::mul")) == (1, 0)


@pytest.mark.parametrize(
    ("window", "remark"),
    [
        (Window(range="absent"), "nothing was recorded: no range 'absent' opened in this process"),
        (Window(range="step", steps=(4, 5)), "no range 'step' opened more than 3 times in this process"),
        (
            Window(range=PROFILER_CALLS),
            "nothing was recorded: the profiler was never started in this process",
        ),
        (Window(delay_s=600), "before 600 s"),
    ],
)
def test_a_window_that_never_opens_is_one_line(bench: Windows, window: Window, remark: str) -> None:
    bench.window = window
    done = bench.python(bench.write("ranges.py", RANGES))
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("rocm-perf: nothing was recorded")
    assert remark in done.stderr
    assert bench.files == []


def test_a_range_that_never_ends_is_recorded_to_the_end(bench: Windows) -> None:
    bench.window = Window(range="open")
    script = """
        import torch
        torch.ones(2).mul(2)
        torch.profiler.record_function("open").__enter__()
        torch.ones(2).add(1)
    """
    done = bench.python(bench.write("open.py", script))
    assert done.stderr == "rocm-perf: the range 'open' was still open at the end: recorded until there\n"
    assert (bench.total("aten::add"), bench.total("aten::mul")) == (1, 0)


PHASES = """
import sys, time, torch
def work(seconds, operator):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        operator(torch.ones(2), 2)
        time.sleep(0.01)
torch.ones(2).div(2)
work(float(sys.argv[1]), torch.mul)
print("phase", flush=True)
work(float(sys.argv[2]), torch.add)
"""


def test_a_window_by_the_clock_opens_and_closes_while_the_program_goes_on(bench: Windows) -> None:
    """torch's import takes a second or several: the first phase lasts from it to far beyond the delay's end."""
    bench.window = Window(delay_s=0, duration_s=1.5)
    done = bench.python(bench.write("phases.py", PHASES), "4", "1")
    assert done.returncode == 0
    assert done.stderr == "rocm-perf: recorded for 1.5 s as asked; the program goes on\n"
    assert len(bench.files) == 1
    assert bench.total("aten::mul") > 20  # of about 150 at most
    assert bench.total("aten::add") == 0
    spans = [event for event in bench.trace()["traceEvents"] if event.get("name") == "aten::mul"]
    assert max(event["ts"] for event in spans) - min(event["ts"] for event in spans) < 2.5e6


LATE = """
import time, torch
torch.ones(2).mul(2)
started_s = int(open("/proc/self/stat").read().split()[21]) / 100
while time.clock_gettime(time.CLOCK_BOOTTIME) - started_s < 13.5:
    time.sleep(0.05)
torch.ones(2).add(1)
"""


def test_a_delay_skips_the_beginning_on_the_programs_own_thread(bench: Windows) -> None:
    bench.window = Window(delay_s=12)
    done = bench.python(bench.write("late.py", LATE))
    assert (done.returncode, done.stderr) == (0, "")
    assert (bench.total("aten::add"), bench.total("aten::mul")) == (1, 0)


def test_steps_without_a_range_are_the_programs_own(bench: Windows) -> None:
    bench.window = Window(steps=(3, 4))
    done = bench.python(bench.write("train.py", TRAIN))
    assert (done.returncode, done.stderr) == (7, "")
    assert len(bench.files) == 1
    assert bench.total("aten::addmm") == 4


def test_workers_that_are_forked_before_the_window_opens_stay_silent(bench: Windows) -> None:
    """Kineto has been started once by then: its destructor would wait in such a child, more often than not."""
    bench.window = Window(range="step")
    script = """
        import os, torch
        torch.ones(2).add(1)
        for number in range(10):
            child = os.fork()
            if child == 0:
                with torch.profiler.record_function("step"):
                    torch.ones(2).mul(2)
                raise SystemExit(number)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == number
        with torch.profiler.record_function("step"):
            torch.ones(2).sub(1)
    """
    done = bench.python(bench.write("fork.py", script))
    assert (done.returncode, done.stderr) == (0, "")
    assert (bench.total("aten::sub"), bench.total("aten::mul")) == (1, 0)


CALLS = """
import importlib.util, os, types, torch
spec = importlib.util.spec_from_file_location("window", os.environ["WINDOW"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
torch._C._cudart = types.SimpleNamespace(cudaProfilerStart=lambda: 0, cudaProfilerStop=lambda: 0)
heard = []
module.window_of(os.environ).watch(lambda: heard.append("open"), lambda: heard.append("closed"))
for number in (1, 2, 3):
    heard.append(number)
    torch._C._cudart.cudaProfilerStart()
    torch._C._cudart.cudaProfilerStart()
    torch._C._cudart.cudaProfilerStop()
print(heard)
"""


def test_the_profilers_start_and_stop_calls(bench: Windows) -> None:
    """This torch is built without CUDA: a stand-in for its runtime takes the calls."""
    bench.window = Window(range=PROFILER_CALLS, steps=(2, 2))
    window = str(INJECTED / "rocm_perf_torch_window.py")
    done = bench.python(bench.write("calls.py", CALLS), WINDOW=window)
    assert done.stdout == "[1, 2, 'open', 'closed', 3]\n", done.stderr
