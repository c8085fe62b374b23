"""What `--profiler torch` would run, and when it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.backends.base import DOMAINS, PcSampling, TorchOptions, Wish
from rocm_perf.backends.injected import INJECTED
from rocm_perf.backends.machine import Machine, Torch
from rocm_perf.backends.torch import TorchProfiler

WITH_TORCH = Machine(host="here", torch=Torch(python="/usr/bin/python", version="2.13.0", hip="7.2"))
PROFILER = TorchProfiler()


def test_the_application_stays_and_its_environment_gets_the_recorder() -> None:
    app = ("python", "-m", "train", "--", "--profiler", "x y")
    options = TorchOptions(wait=1, warmup=2, active=3, repeat=4, shapes=False, stacks=True)
    command = PROFILER.command(
        Wish(domains=("kernel",), torch=options), app, Path("/runs/pass_1"), WITH_TORCH
    )
    assert command.argv == app
    assert command.expected == ("*.pt.trace.json",)
    assert command.environment == {
        "PYTHONPATH": str(INJECTED),
        "ROCM_PERF_TORCH_OUTPUT": "/runs/pass_1",
        "ROCM_PERF_TORCH_STEP": "",
        "ROCM_PERF_TORCH_WAIT": "1",
        "ROCM_PERF_TORCH_WARMUP": "2",
        "ROCM_PERF_TORCH_ACTIVE": "3",
        "ROCM_PERF_TORCH_REPEAT": "4",
        "ROCM_PERF_TORCH_SHAPES": "0",
        "ROCM_PERF_TORCH_MEMORY": "0",
        "ROCM_PERF_TORCH_STACKS": "1",
    }


def test_the_users_own_python_path_is_kept() -> None:
    machine = Machine(host="here", environment={"PYTHONPATH": "/mine:/yours"})
    command = PROFILER.command(Wish(), ("python",), Path("out"), machine)
    assert command.environment["PYTHONPATH"] == f"{INJECTED}:/mine:/yours"


def test_allocations_are_the_allocators() -> None:
    command = PROFILER.command(Wish(domains=("allocation",)), ("python",), Path("out"), WITH_TORCH)
    assert command.environment["ROCM_PERF_TORCH_MEMORY"] == "1"
    assert PROFILER.refusal(Wish(domains=("allocation",)), WITH_TORCH) == ""


def test_the_injected_files_are_where_the_command_says() -> None:
    assert {"sitecustomize.py", "rocm_perf_torch_hook.py", "rocm_perf_torch_recorder.py"} <= {
        path.name for path in INJECTED.iterdir()
    }


@pytest.mark.parametrize(
    ("wish", "machine", "word"),
    [
        (Wish(domains=("kernel",)), Machine(host="here"), "no torch"),
        (Wish(domains=("hsa", "scratch")), WITH_TORCH, "hsa, scratch"),
        (Wish(counters=("SQ_WAVES",)), WITH_TORCH, "no counters"),
        (Wish(att=True), WITH_TORCH, "no thread trace"),
        (Wish(domains=("kernel",), counters=("SQ_WAVES",)), WITH_TORCH, "no counters"),
        (Wish(pc_sampling=PcSampling("host_trap", "time", 100)), WITH_TORCH, "no PC sampling"),
    ],
)
def test_refusals(wish: Wish, machine: Machine, word: str) -> None:
    assert word in PROFILER.refusal(wish, machine)


@pytest.mark.parametrize("domain", ["kernel", "hip", "copy", "marker", "rccl"])
def test_what_it_records_is_not_refused(domain: str) -> None:
    assert PROFILER.refusal(Wish(domains=(domain,)), WITH_TORCH) == ""  # type: ignore[arg-type]
    assert PROFILER.dropped(Wish(domains=(domain,)), WITH_TORCH) == ()  # type: ignore[arg-type]


def test_what_is_left_out_is_told() -> None:
    wish = Wish(
        domains=DOMAINS,
        kernel_include="gemm",
        collection_period=("1:1:1",),
        selected_regions=True,
        tool_args=("--x",),
    )
    left_out = PROFILER.dropped(wish, WITH_TORCH)
    assert [each.split(":")[0] for each in left_out] == [
        "hsa trace", "scratch trace", "kernel filter", "collection period", "selected regions", "tool arguments",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("app", "refused"),
    [
        (("python", "train.py", "-I"), False),
        (("python", "-u", "-W", "ignore", "train.py"), False),
        (("python", "-c", "import I", "-E"), False),
        (("python", "-m", "isolated", "-S"), False),
        (("python", "-mIsolated"), False),
        (("python", "-X", "importtime", "-I", "x.py"), True),
        (("/usr/bin/python3.11", "-I", "train.py"), True),
        (("python3", "-sE", "train.py"), True),
        (("python3", "-uS", "train.py"), True),
        (("python",), False),
        (("./app", "-I"), False),
        ((), False),
    ],
)
def test_an_isolated_interpreter_ignores_it(app: tuple[str, ...], refused: bool) -> None:
    assert bool(PROFILER.app_refusal(app, Path("out"), is_python=True)) is refused


def test_a_program_that_is_not_python_is_refused() -> None:
    assert "not a Python program" in PROFILER.app_refusal(("./app",), Path("out"), is_python=False)
