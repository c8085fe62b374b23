"""The injected files, with a small stand-in for torch; with the real one: tests/with_torch."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocm_perf
from rocm_perf.backends.base import Wish
from rocm_perf.backends.injected import INJECTED
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.torch import TorchProfiler
from rocm_perf.inject.rocm_perf_injection import LAUNCHERS, started_program
from rocm_perf.inject.rocm_perf_torch_recorder import Options, claim, file_stem, holds_work

# As much of torch as the recorder touches. `use_device` is what the first tensor on a GPU does.
TORCH = {
    "__init__.py": """
        from types import SimpleNamespace
        version = SimpleNamespace(cuda="13.0", hip=None)
        from torch import autograd, cuda, profiler
    """,
    "cuda.py": """
        _calls = []
        def _lazy_call(call): _calls.append(call)
        def is_available(): raise AssertionError("asked before the program did")
        def use_device():
            for call in _calls: call()
            _calls.clear()
    """,
    "autograd/__init__.py": """
        from torch.autograd import profiler
        def _enable_record_function(enable): print("observing", enable)
    """,
    "autograd/profiler.py": """
        class profile:
            def _prepare_trace(self): pass
    """,
    "profiler.py": """
        import json
        from types import SimpleNamespace
        from torch.autograd import profiler as inner
        ProfilerActivity = SimpleNamespace(CPU="CPU", CUDA="CUDA")
        starts = 0
        class profile:
            def __init__(self, *, activities, on_trace_ready, **options):
                self.activities, self.ready, self.notes = activities, on_trace_ready, {}
                self.current_action = SimpleNamespace(name="RECORD")
            def start(self):
                global starts
                starts += 1
                self.profiler = inner.profile()
                self.profiler._prepare_trace()
            def stop(self): self.ready(self)
            def add_metadata_json(self, name, text): self.notes[name] = json.loads(text)
            def export_chrome_trace(self, path):
                events = [{"cat": "cpu_op", "name": "+".join(self.activities)}]
                with open(path, "w") as file:
                    file.write(json.dumps({**self.notes, "traceEvents": events}))
    """,
}
HAS_GPU = """
import os
exists = os.path.exists
os.path.exists = lambda path: path == "/dev/kfd" or exists(path)
print("mine")
"""


class Place:
    """A folder with a torch and a user's own sitecustomize."""

    def __init__(self, folder: Path, sitecustomize: str = HAS_GPU) -> None:
        self.folder, self.output = folder, folder / "out"
        site = folder / "site"
        for name, text in TORCH.items():
            path = site / "torch" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        (site / "sitecustomize.py").write_text(sitecustomize)
        machine = Machine(host="here", environment={"PYTHONPATH": str(site)})
        command = TorchProfiler().command(Wish(), ("python",), self.output, machine)
        self.environment = {**os.environ, **command.environment}

    def run(self, program: str, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *flags, "-c", textwrap.dedent(program)],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def texts(self) -> list[str]:
        return [path.read_text() for path in sorted(self.output.iterdir())] if self.output.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_users_own_sitecustomize_runs_and_the_path_is_his(place: Place) -> None:
    done = place.run("import sys, sitecustomize; print(sitecustomize.__file__); print(sys.path)")
    assert done.stdout.startswith("mine\n")
    assert str(place.folder / "site" / "sitecustomize.py") in done.stdout
    assert str(INJECTED) not in done.stdout
    assert done.stderr == ""


def test_a_broken_sitecustomize_is_reported_by_python_and_torch_still_recorded(tmp_path: Path) -> None:
    place = Place(tmp_path, HAS_GPU + "\nraise KeyError('broken')\n")
    done = place.run("import torch; torch.cuda.use_device()")
    assert "KeyError: 'broken'" in done.stderr
    assert done.returncode == 0
    assert len(place.texts) == 1


def test_the_device_is_not_touched_before_the_program_does(place: Place) -> None:
    place.run("import torch")
    assert place.texts == []
    done = place.run("import torch; torch.cuda.use_device()")
    assert (done.returncode, done.stderr) == (0, "")
    assert "CPU+CUDA" in place.texts[0]
    assert '"steps"' in place.texts[0]


def test_a_program_without_torch_is_left_alone(place: Place) -> None:
    done = place.run("import json, sys; print([type(finder).__name__ for finder in sys.meta_path])")
    assert place.texts == []
    assert done.stderr == ""


def test_nothing_stays_in_the_way_of_imports(place: Place) -> None:
    done = place.run("import sys, torch; print([type(finder).__name__ for finder in sys.meta_path])")
    assert "ImportFinder" not in done.stdout


def test_a_forked_child_that_uses_the_device_records_itself(place: Place) -> None:
    done = place.run("""
        import multiprocessing, torch
        child = multiprocessing.get_context("fork").Process(target=torch.cuda.use_device)
        child.start(); child.join()
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(place.texts) == 1


def test_a_child_of_a_recorded_process_observes_nothing(place: Place) -> None:
    done = place.run("""
        import os, sys, torch
        torch.cuda.use_device()
        child = os.fork()
        if child == 0: sys.exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert "observing False" in done.stdout
    assert done.stdout.endswith("3\n")
    assert len(place.texts) == 1


def test_a_profiler_of_the_program_ends_ours(place: Place) -> None:
    done = place.run("""
        import torch
        torch.autograd.profiler.profile()._prepare_trace()
        torch.cuda.use_device()
        print(torch.profiler.starts)
    """)
    assert done.stdout == "mine\n0\n"
    assert len(done.stderr.splitlines()) == 1
    assert "uses torch.profiler itself" in done.stderr
    assert place.texts == []


def test_a_torch_that_fails_in_our_hands_still_works(place: Place) -> None:
    (place.folder / "site" / "torch" / "profiler.py").write_text("")
    done = place.run("import torch; torch.cuda.use_device(); print('on')")
    assert (done.returncode, done.stdout) == (0, "mine\non\n")
    assert done.stderr.startswith("rocm-perf: torch.profiler could not record this process (")
    assert len(done.stderr.splitlines()) == 1


def test_an_isolated_interpreter_is_indeed_beyond_reach(place: Place) -> None:
    done = place.run("import sys; sys.path.insert(0, 'site'); import torch; torch.cuda.use_device()", "-I")
    assert done.returncode == 0
    assert place.texts == []


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python", "/usr/bin/torchrun", "--nnodes=1", "x.py"], "torchrun"),
        (["python", "-u", "-m", "torch.distributed.run", "x.py"], "torch.distributed.run"),
        (["python", "-W", "ignore", "dir/train.py", "-m", "x"], "train.py"),
        (["python", "-c", "print()"], "-c"),
        (["python"], ""),
    ],
)
def test_launchers_are_told_by_their_command_line(words: list[str], name: str) -> None:
    assert started_program(words) == name
    assert (name in LAUNCHERS) == name.startswith("torch")


@given(st.lists(st.sampled_from(["rank0-1", "rank1-1", "rank-7"]), max_size=12))
def test_no_two_recordings_share_a_name(stems: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        claimed = []
        for number, stem in enumerate(stems):
            path, part = claim(folder, stem)
            claimed.append(path)
            if number % 2:  # half of them are still being written
                os.replace(part, path)
        assert len(set(claimed)) == len(stems)


@pytest.mark.parametrize(
    ("environment", "stem"),
    [
        ({"RANK": "3", "SLURM_PROCID": "5"}, "rank3-9"),
        ({"SLURM_PROCID": "5"}, "rank5-9"),
        ({"RANK": "x"}, "rank-9"),
        ({}, "rank-9"),
    ],
)
def test_files_are_named_by_rank_and_process(environment: dict[str, str], stem: str) -> None:
    assert file_stem(environment, 9) == stem


def test_a_trace_without_work_is_told_from_one_with(tmp_path: Path) -> None:
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.write_text('{"traceEvents": [{"ph": "M", "name": "process_name"}]}')
    full.write_text('{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k"}]}')
    assert not holds_work(str(empty))
    assert holds_work(str(full))


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"wait": 1}, {"warmup": 2}, {"active": 1, "repeat": -2}])
def test_a_schedule_that_makes_no_sense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="wait"):
        rocm_perf.torch_profile("out", **wrong)  # type: ignore[arg-type]


def test_options_have_the_defaults_of_the_command_line() -> None:
    from rocm_perf.backends.base import TorchOptions

    ours = Options("out")
    assert all(
        getattr(ours, name) == getattr(TorchOptions(), name) for name in TorchOptions.__struct_fields__
    )


@pytest.mark.parametrize("path", sorted(INJECTED.glob("*.py")), ids=lambda path: path.name)
def test_the_injected_files_need_no_more_than_python_3_8_and_themselves(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= {*sys.stdlib_module_names, "torch", "jax", "__future__"}
