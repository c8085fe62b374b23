"""jax.profiler put into programs that know nothing of it, with a real JAX (CPU): `make test-jax`. What is read back is
held against what the programs know of themselves."""

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

import polars as pl
import pytest

from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.overview import overview
from rocm_perf.backends.base import Wish
from rocm_perf.backends.jax import JaxProfiler
from rocm_perf.backends.machine import Machine
from rocm_perf.ingest.load import load
from rocm_perf.model.results.operators import Operator
from rocm_perf.model.trace import Trace
from rocm_perf.model.window import Window

if importlib.util.find_spec("jax") is None:
    pytest.skip("JAX is not in this environment: make test-jax", allow_module_level=True)

STEPS, ROWS, WIDTH = 6, 128, 256
TRAIN = f"""
import sys, time
import jax, jax.numpy as jnp

@jax.jit
def step(weights, data):
    def loss(weights):
        with jax.named_scope("layer0"):
            hidden = jnp.tanh(data @ weights)
        return (hidden ** 2).sum()
    return weights - 0.01 * jax.grad(loss)(weights)

weights, data = jnp.ones(({WIDTH}, {WIDTH})), jnp.ones(({ROWS}, {WIDTH}))
for number in range({STEPS}):
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        with jax.profiler.TraceAnnotation("feed"):
            batch = data + number
        weights = step(weights, batch)
        weights.block_until_ready()
print("done", sys.argv[1:], flush=True)
"""


class Bench:
    """A folder in which programs run with the recorder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "out put"

    def environment(self, window: Window) -> dict[str, str]:
        machine = Machine(host="here", jax="here")
        command = JaxProfiler().command(Wish(window=window), ("python",), self.output, machine)
        return {**os.environ, "JAX_PLATFORMS": "cpu", **command.environment}

    def start(self, text: str, *words: str, window: Window = Window()) -> subprocess.Popen[str]:  # noqa: B008
        script = self.folder / "program.py"
        script.write_text(textwrap.dedent(text))
        argv = [sys.executable, str(script), *words]
        return subprocess.Popen(
            argv,
            env=self.environment(window),
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, text: str, *words: str, window: Window = Window()) -> tuple[int, str, str]:  # noqa: B008
        program = self.start(text, *words, window=window)
        out, err = program.communicate(timeout=240)
        return program.returncode, out, err

    @property
    def files(self) -> list[Path]:
        return sorted(self.output.iterdir()) if self.output.is_dir() else []


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, tuple[int, str, str], list[Path]]:
    """One whole run."""
    bench = Bench(tmp_path_factory.mktemp("whole"))
    ended = bench.run(TRAIN + "sys.exit(7)", "--epochs", "1")
    return load(bench.output), ended, bench.files


def named(trace: Trace, part: str) -> list[Operator]:
    rows = [each for category in operators(trace).categories for each in category.operators]
    return [row for row in rows if part in row.name]


def steps_of(trace: Trace) -> list[str]:
    ranges = trace.table("ranges").filter(pl.col("name").str.starts_with("train ")).sort("start_ns")
    return ranges["name"].to_list()


def test_the_program_is_as_ever_and_leaves_one_file(
    recorded: tuple[Trace, tuple[int, str, str], list[Path]],
) -> None:
    _, (status, out, err), files = recorded
    assert (status, out, err) == (7, "done ['--epochs', '1']\n", "")
    assert [file.name.startswith("rank-") and file.suffixes[-2:] == [".xplane", ".pb"] for file in files] == [
        True
    ]


def test_its_steps_and_annotations(recorded: tuple[Trace, tuple[int, str, str], list[Path]]) -> None:
    trace = recorded[0]
    assert steps_of(trace) == [f"train {number}" for number in range(STEPS)]
    assert trace.table("ranges").filter(pl.col("name") == "feed").height == STEPS


def test_its_products_are_counted_exactly(recorded: tuple[Trace, tuple[int, str, str], list[Path]]) -> None:
    """A step multiplies [rows, width] x [width, width] forward, and [width, rows] x [rows, width] for the gradient."""
    trace = recorded[0]
    facts = trace.table("ops").filter(pl.col("inputs").str.contains('"flops"'))["inputs"]
    flops = [json.loads(text)["flops"] for text in facts]
    product = 2 * ROWS * WIDTH * WIDTH
    assert sum(count >= product for count in flops) == 2 * STEPS
    assert sum(count for count in flops if count >= product) == pytest.approx(2 * STEPS * product, rel=0.02)


def test_operations_know_their_scope_and_line(
    recorded: tuple[Trace, tuple[int, str, str], list[Path]],
) -> None:
    trace = recorded[0]
    modules = set(trace.table("ops").filter(pl.col("category") == "module")["name"])
    assert "jit_step" in modules
    assert any("layer0" in name for name in modules)
    places = {place.name for place in operators(trace).call_sites}
    line = 1 + next(n for n, text in enumerate(TRAIN.splitlines()) if "jnp.tanh" in text)
    assert any(f"program.py({line}):" in place for place in places)


def test_the_first_screen_says_that_it_ran_on_the_cpu(
    recorded: tuple[Trace, tuple[int, str, str], list[Path]],
) -> None:
    finding = overview(recorded[0], "program").findings[0]
    assert finding.title == "JAX computed on the CPU: no GPU is in the recording"


def test_steps_from_third_to_fourth(bench: Bench) -> None:
    assert bench.run(TRAIN, window=Window(steps=(3, 4)))[0] == 0
    assert steps_of(load(bench.output)) == ["train 2", "train 3"]


def test_one_file_for_each_opening_of_a_range(bench: Bench) -> None:
    bench.run(TRAIN, window=Window(range="feed", steps=(2, 3)))
    assert len(bench.files) == 2
    first = load(bench.files[0])
    assert first.table("ranges").filter(pl.col("name") == "feed").height == 1
    assert steps_of(first) == []


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (Window(range="nowhere"), "nothing was recorded: no range 'nowhere' opened in this process"),
        (
            Window(steps=(90, 99)),
            "nothing was recorded: no step was marked more than 6 times in this process",
        ),
    ],
)
def test_a_window_that_never_opens_says_so(bench: Bench, window: Window, said: str) -> None:
    status, _, err = bench.run(TRAIN, window=window)
    assert (status, err) == (0, f"rocm-perf: {said}\n")
    assert bench.files == []


def test_a_window_by_the_clock_closes_while_the_program_goes_on(bench: Bench) -> None:
    status, out, err = bench.run(TRAIN + "time.sleep(1)", window=Window(duration_s=0.2))
    assert (status, out) == (0, "done []\n")
    assert err == "rocm-perf: recorded for 0.2 s as asked; the program goes on\n"
    assert len(bench.files) == 1


def test_a_program_with_its_own_profile_keeps_it(bench: Bench) -> None:
    own = bench.folder / "own"
    status, _, err = bench.run(TRAIN.replace("for number", f"jax.profiler.start_trace({str(own)!r})\nfor number") +
                               "jax.profiler.stop_trace()")  # fmt: skip
    assert (status, err) == (
        0,
        "rocm-perf: the program uses jax.profiler itself; ours ends here and leaves it alone\n",
    )
    assert steps_of(load(own)) == [f"train {number}" for number in range(STEPS)]
    assert steps_of(load(bench.output)) == []


def test_a_program_that_is_terminated_leaves_what_was_recorded(bench: Bench) -> None:
    program = bench.start(TRAIN + "time.sleep(120)")
    assert program.stdout is not None
    assert program.stdout.readline().startswith("done")
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=120)
    assert program.returncode == -signal.SIGTERM
    assert len(steps_of(load(bench.output))) == STEPS


def test_the_device_is_not_looked_for_before_the_program_does(bench: Bench) -> None:
    """Otherwise the choice of platforms would be fixed at the import."""
    begun = time.monotonic()
    status, out, _ = bench.run("""
        import jax
        from jax._src import xla_bridge
        print(len(xla_bridge._backends))
    """)
    assert (status, out) == (0, "0\n")
    assert bench.files == []
    assert time.monotonic() - begun < 240


def test_a_program_without_jax_is_left_alone(bench: Bench) -> None:
    assert bench.run("import json; print('on')") == (0, "on\n", "")
    assert bench.files == []
