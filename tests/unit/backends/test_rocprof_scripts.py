"""rocprofv2 and rocprof, which are shell scripts without a `--`."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocm_perf.backends.amd.rocprof import RocprofProfiler
from rocm_perf.backends.amd.rocprofv2 import Rocprofv2Profiler
from rocm_perf.backends.base import PcSampling, Wish
from tests.fake_tools import fake_path, run_tool
from tests.unit.backends.machines import amd

V2, V1 = Rocprofv2Profiler(), RocprofProfiler()
MACHINE = amd(rocm="5.7", tools=("rocprofv2", "rocprof"))
OUT = Path("/out")
TRACE = Wish(domains=("kernel", "hip", "copy", "marker"))


def test_traces() -> None:
    assert V2.command(TRACE, ("./app",), OUT, MACHINE).argv == (
        "/opt/rocm/bin/rocprofv2", "--kernel-trace", "--hip-trace", "--roctx-trace", "--plugin", "file",
        "-d", "/out", "-o", "results", "./app",
    )  # fmt: skip
    assert V1.command(TRACE, ("./app",), OUT, MACHINE).argv == (
        "/opt/rocm/bin/rocprof", "--hip-trace", "--roctx-trace", "--stats", "-o", "/out/results.csv", "./app",
    )  # fmt: skip


@pytest.mark.parametrize("profiler", [V2, V1])
def test_copies_come_with_the_hip_trace(profiler: Rocprofv2Profiler | RocprofProfiler) -> None:
    assert "--hip-trace" in profiler.command(Wish(domains=("copy",)), ("./app",), OUT, MACHINE).argv


@pytest.mark.parametrize("profiler", [V2, V1])
def test_counters_come_from_a_file(profiler: Rocprofv2Profiler | RocprofProfiler) -> None:
    made = profiler.command(Wish(domains=("kernel",), counters=("SQ_WAVES",)), ("./app",), OUT, MACHINE)
    assert made.files == {"/out/counters.txt": "pmc: SQ_WAVES\n"}
    assert made.argv[made.argv.index("-i") + 1] == "/out/counters.txt"


def test_what_only_rocprofv3_can() -> None:
    wish = Wish(domains=("kernel", "rccl"), kernel_include="x", selected_regions=True, formats=("otf2",))
    for profiler in (V2, V1):
        assert len(profiler.dropped(wish, MACHINE)) == 1
        notices = " ".join(profiler.command(wish, ("./app",), OUT, MACHINE).notices)
        assert "--kernel-include-regex" in notices
        assert "--selected-regions" in notices
        assert "otf2" in notices
        assert profiler.refusal(Wish(pc_sampling=PcSampling("host_trap", "time", 1)), MACHINE)
        assert profiler.refusal(Wish(att=True), MACHINE)
        assert "not on this machine" in profiler.refusal(wish, amd(tools=()))
        assert profiler.refusal(wish, MACHINE) == ""


def test_rocprofv2_writes_for_perfetto_when_asked() -> None:
    argv = V2.command(Wish(domains=("kernel",), formats=("pftrace",)), ("./app",), OUT, MACHINE).argv
    assert argv[argv.index("--plugin") + 1] == "perfetto"


def test_rocprof_tells_that_it_joins_the_outputs_and_hides_the_exit_code() -> None:
    made = V1.command(TRACE, ("./app",), OUT, MACHINE)
    assert "stderr" in made.notices[0]
    assert not made.separates_exit_code
    assert V2.command(TRACE, ("./app",), OUT, MACHINE).separates_exit_code


WORDS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1
)


@given(WORDS.map(tuple))
@example(("-app", "x"))
@example(("./app", "a b"))
def test_the_words_arrive_as_they_are(app: tuple[str, ...]) -> None:
    """Behind the options, or quoted in the file that starts the application."""
    for profiler in (V2, V1):
        made = profiler.command(TRACE, app, OUT, MACHINE)
        if "/out/application.sh" in made.files:
            assert made.argv[-2:] == ("/bin/sh", "/out/application.sh")
            assert shlex.split(made.files["/out/application.sh"])[1:] == list(app)
        else:
            assert made.argv[-len(app) :] == app
            assert not app[0].startswith("-")


def test_a_shell_runs_that_file(tmp_path: Path) -> None:
    app = ("printf", "%s|", "a  b", "$HOME", "`id`", "'\"", "*", "")
    made = V1.command(TRACE, app, tmp_path, MACHINE)
    for path, text in made.files.items():
        Path(path).write_text(text)
    assert run_tool(fake_path(tmp_path), *made.argv[-2:]).stdout == "".join(f"{word}|" for word in app[2:])
