"""torch.profiler put into programs that know nothing of it, with a real torch (CPU): `make test-torch`."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.backends.base import TorchOptions, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.torch import TorchProfiler
from rocm_perf.ingest.load import load

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

ALL = TorchOptions()
TRAIN = """
import sys
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("done", sys.argv[1:])
sys.exit(7)
"""


class Bench:
    """A folder in which programs run, with the recorder or without."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "out put"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def environment(self, options: TorchOptions = ALL, **more: str) -> dict[str, str]:
        machine = Machine(host="here", environment=dict(more))
        command = TorchProfiler().command(Wish(torch=options), ("python",), self.output, machine)
        # Without numpy torch warns at its import, with or without us.
        return {**os.environ, "PYTHONWARNINGS": "ignore", **more, **command.environment}

    def run(
        self, *argv: object, options: TorchOptions = ALL, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in argv],
            env=self.environment(options, **more),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def python(self, *argv: object, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, *argv, **more)

    @property
    def files(self) -> list[Path]:
        return sorted(self.output.iterdir()) if self.output.is_dir() else []

    def trace(self, number: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.files[number].read_text())
        return found

    def named(self, name: str, number: int = 0) -> int:
        return sum(event.get("name") == name for event in self.trace(number)["traceEvents"])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_script_is_recorded_and_notices_nothing(bench: Bench) -> None:
    script = bench.write("train.py", TRAIN)
    plain = subprocess.run(
        [sys.executable, script, "--", "-x"],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    done = bench.python(script, "--", "-x")
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert done.returncode == 7
    assert [file.name.split("-")[0] for file in bench.files] == ["rank"]
    assert bench.named("aten::addmm") == 12
    trace = load(bench.files[0])
    assert trace.table("ops").height > 100
    assert bench.trace()["record_shapes"] == 1


def test_a_traceback_is_the_programs_own(bench: Bench) -> None:
    done = bench.python(
        bench.write("fails.py", "import torch\ntorch.ones(2).add(1)\nraise KeyError('mine')\n")
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("KeyError: 'mine'\n")
    assert "rocm" not in done.stderr
    assert len(bench.files) == 1


def test_a_module_and_an_entry_point(bench: Bench) -> None:
    bench.write("package/__main__.py", "import torch\ntorch.ones(2).add(1)\n")
    assert bench.python("-m", "package").returncode == 0
    entry = bench.write("entry", f"#!{sys.executable}\nimport torch\ntorch.ones(2).add(1)\n")
    entry.chmod(0o755)
    assert bench.run(entry).returncode == 0
    assert len(bench.files) == 2


def test_every_rank_of_torchrun_and_not_the_launcher(bench: Bench) -> None:
    script = bench.write("ranked.py", "import os, torch\ntorch.ones(int(os.environ['RANK']) + 2).add(1)\n")
    done = bench.run(Path(sys.executable).parent / "torchrun", "--nproc_per_node=2", "--standalone", script)
    assert done.returncode == 0, done.stderr
    assert [file.name.split("-")[0] for file in bench.files] == ["rank0", "rank1"]


def test_optimizer_steps_drive_the_schedule(bench: Bench) -> None:
    options = TorchOptions(wait=1, warmup=1, active=2, repeat=1, shapes=False)
    done = bench.python(bench.write("train.py", TRAIN), options=options)
    assert (done.returncode, done.stderr) == (7, "")
    assert len(bench.files) == 1
    assert bench.named("aten::addmm") == 4
    assert bench.trace()["rocm_perf_torch"]["steps"] == "optimizer.step"
    assert {
        event["name"] for event in bench.trace()["traceEvents"] if "ProfilerStep" in event.get("name", "")
    } == {
        "ProfilerStep#2",
        "ProfilerStep#3",
    }


def test_a_second_optimizer_counts_no_step(bench: Bench) -> None:
    script = TRAIN.replace("    optimizer.step()\n", "    optimizer.step()\n    other.step()\n").replace(
        "for _", "other = torch.optim.SGD(model.parameters(), lr=0.1)\nfor _"
    )
    bench.python(bench.write("gan.py", script), options=TorchOptions(wait=2, active=2))
    assert bench.named("aten::addmm") == 4


def test_calls_of_the_outermost_module_drive_it_without_an_optimizer(bench: Bench) -> None:
    script = """
        import torch
        encoder = torch.nn.Linear(8, 8)
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
        with torch.no_grad():
            x = encoder(torch.ones(1, 8))
            for _ in range(6):
                try:
                    x = model(x)
                    model(torch.ones(1, 3))
                except RuntimeError:
                    pass
    """
    bench.python(bench.write("infer.py", script), options=TorchOptions(wait=1, active=2, repeat=2))
    assert len(bench.files) == 2
    assert bench.trace()["rocm_perf_torch"]["steps"] == "module.forward"


def test_a_compiled_model_stays_one_graph(bench: Bench) -> None:
    script = """
        import torch
        plain = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        model = torch.compile(plain, fullgraph=True, backend="eager")
        with torch.no_grad():
            for _ in range(6):
                model(torch.ones(1, 8))
        print("compiled")
    """
    done = bench.python(bench.write("compiled.py", script), options=TorchOptions(wait=1, active=2))
    assert done.stdout == "compiled\n", done.stderr
    assert bench.named("aten::addmm") + bench.named("aten::linear") >= 2


def test_a_program_with_its_own_profiler_keeps_it(bench: Bench) -> None:
    script = """
        import torch
        torch.ones(2).mul(3)
        with torch.profiler.profile() as prof:
            torch.ones(2).add(1)
        print(sorted({event.name for event in prof.events()}))
        torch.ones(2).sub(1)
    """
    done = bench.python(bench.write("own.py", script))
    assert "aten::add" in done.stdout
    assert done.stderr.splitlines() == [
        "rocm-perf: the program uses torch.profiler itself; ours ends here and leaves it alone"
    ]
    assert (bench.named("aten::mul"), bench.named("aten::add"), bench.named("aten::sub")) == (1, 0, 0)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader_workers_are_left_alone(bench: Bench, method: str) -> None:
    script = f"""
        import sys, time, torch
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, index):
                began = time.perf_counter()
                for _ in range(2000): torch.ones(4).add(1)
                return torch.tensor(time.perf_counter() - began)
        if __name__ == "__main__":
            loader = torch.utils.data.DataLoader(Data(), num_workers=2, multiprocessing_context={method!r})
            print(sorted(float(each) for each in loader)[4])
    """
    path = bench.write("load.py", script)
    done = bench.python(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(bench.files) == 1
    alone = subprocess.run(
        [sys.executable, "-W", "ignore", path], capture_output=True, text=True, check=True, cwd=bench.folder
    )
    assert float(done.stdout) < 20 * float(alone.stdout)  # recording every operator costs far more


def test_a_child_records_if_asked(bench: Bench) -> None:
    script = """
        import multiprocessing
        def work():
            import torch
            torch.ones(2).add(1)
        if __name__ == "__main__":
            child = multiprocessing.get_context("spawn").Process(target=work)
            child.start(); child.join()
            raise SystemExit(child.exitcode)
    """
    path = bench.write("spawn.py", script)
    assert bench.python(path).returncode == 0
    assert bench.files == []
    assert bench.python(path, ROCM_PERF_TORCH_CHILDREN="1").returncode == 0
    assert len(bench.files) == 1


def test_a_plain_fork_writes_nothing_and_ends_as_ever(bench: Bench) -> None:
    """Kineto's destructor waits for ever in such a child, more often than not."""
    script = """
        import ctypes, os, sys, torch
        torch.ones(2).add(1)
        statuses = []
        for number in range(10):
            child = os.fork()
            if child == 0:
                torch.ones(2).mul(2)
                ctypes.CDLL(None).printf(b"C")
                print("Python", end="")
                sys.exit(number)
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(statuses)
    """
    done = bench.python(bench.write("fork.py", script))
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout.count("C"), done.stdout.count("Python")) == (10, 10)
    assert done.stdout.endswith(f"{list(range(10))}\n")
    assert len(bench.files) == 1
    assert bench.named("aten::mul") == 0


def test_sigterm_writes_what_was_recorded(bench: Bench) -> None:
    script = bench.write(
        "serve.py", "import time, torch\ntorch.ones(2).add(1)\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, script], env=bench.environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(0.3)
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
    assert bench.named("aten::add") == 1


def test_what_goes_wrong_is_one_line_and_the_program_runs_on(bench: Bench) -> None:
    bench.output.write_text("in the way")
    done = bench.python(bench.write("train.py", TRAIN))
    assert (done.returncode, done.stdout) == (7, "done []\n")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("rocm-perf: torch.profiler could not record this process")
    bad = bench.python(bench.folder / "train.py", options=TorchOptions(active="many"))  # type: ignore[arg-type]
    assert (bad.returncode, bad.stdout) == (7, "done []\n")
    assert bad.stderr.startswith("rocm-perf: torch.profiler cannot be set up")


def test_a_program_that_only_asks_for_torch_first(bench: Bench) -> None:
    script = """
        import importlib.util
        assert importlib.util.find_spec("torch") is not None
        import torch
        torch.ones(2).add(1)
        assert torch.__spec__.loader.get_source("torch")
        assert "exec_module" not in vars(torch.__spec__.loader)
    """
    done = bench.python(bench.write("asks.py", script))
    assert (done.returncode, done.stderr) == (0, "")
    assert len(bench.files) == 1


def test_a_process_that_exits_without_farewell_loses_its_recording(bench: Bench) -> None:
    bench.python(bench.write("gone.py", "import os, torch\ntorch.ones(2).add(1)\nos._exit(0)\n"))
    assert bench.files == []


def test_threads_are_recorded(bench: Bench) -> None:
    script = """
        import threading, torch
        thread = threading.Thread(target=lambda: torch.ones(2).mul(2))
        thread.start(); thread.join()
    """
    bench.python(bench.write("thread.py", script))
    assert bench.named("aten::mul") == 1


def test_ranges_of_annotate_are_in_the_trace(bench: Bench) -> None:
    script = """
        import rocm_perf
        with rocm_perf.annotate("before torch"):
            import torch
        with rocm_perf.annotate("outer"):
            rocm_perf.mark("here")
            torch.ones(2).add(1)
        assert rocm_perf.annotation_backend() == "torch"
    """
    done = bench.python(bench.write("ranges.py", script))
    assert (done.returncode, done.stderr) == (0, "")
    ranges = load(bench.files[0]).table("ranges")
    assert {"outer", "here"} <= set(ranges["name"])


IN_CODE = """
import sys, torch, rocm_perf
from rocm_perf import torch_profile
with torch_profile("traces", wait=1, active=1, repeat=2) as recording:
    for _ in range(4):
        torch.ones(2).add(1)
        recording.step()
assert len(recording.files) == 2, recording.files
with torch_profile("traces") as again:
    torch.ones(2).mul(2)
assert not set(again.files) & set(recording.files)
try:
    with torch_profile("traces", shapes=False) as failed:
        torch.ones(2).sub(1)
        raise KeyError("mine")
except KeyError:
    pass
assert len(failed.files) == 1
print(*recording.files, *again.files, *failed.files)
"""


def test_in_code(bench: Bench) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", bench.write("code.py", IN_CODE)],
        capture_output=True,
        text=True,
        cwd=bench.folder,
        check=False,
        env={**os.environ, "RANK": "3"},
    )
    assert done.returncode == 0, done.stderr
    files = [bench.folder / name for name in done.stdout.split()]
    assert [file.name.split("-")[0] for file in files] == ["rank3"] * 4
    assert len(set(files)) == 4
    assert json.loads(files[0].read_text())["rocm_perf_torch"]["steps"] == "step()"
    assert load(files[2]).table("ops").height > 0


def test_warnings_about_our_profiler_are_not_the_programs(bench: Bench) -> None:
    script = bench.write("train.py", TRAIN)
    done = bench.python(script, options=TorchOptions(wait=1, active=1, repeat=2), PYTHONWARNINGS="default")
    assert "rofiler" not in done.stderr
    assert len(bench.files) == 2
    assert "torch.profiler" in repr(load(bench.files[0]).run)


PLAIN = """
import torch
weights = torch.ones(8, 8)
class Server:
    def step(self, x):
        return torch.relu(x @ weights)
def infer(x):
    return Server().step(x)
x = torch.ones(4, 8)
for _ in range(8):
    x = infer(x)
print("done")
"""


@pytest.mark.parametrize("function", ["infer", "Server.step", "__main__:infer"])
def test_calls_of_a_named_function_drive_the_schedule(bench: Bench, function: str) -> None:
    options = TorchOptions(wait=2, warmup=1, active=3, step=function)
    done = bench.python(bench.write("plain.py", PLAIN), options=options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert bench.named("aten::relu", 0) == 3


def test_a_schedule_without_steps_leaves_word(bench: Bench) -> None:
    done = bench.python(bench.write("plain.py", PLAIN), options=TorchOptions(wait=2, active=3))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    (word,) = bench.files
    assert word.name.startswith(".rank-")
    assert json.loads(word.read_bytes()) == {
        "steps": 0,
        "before": 2,
        "counted_by": "",
        "functions": ["infer"],
    }


def test_waiting_without_active_records_all_that_follows(bench: Bench) -> None:
    done = bench.python(bench.write("plain.py", PLAIN), options=TorchOptions(wait=5, step="infer"))
    assert done.returncode == 0
    assert bench.named("aten::relu", 0) == 3
