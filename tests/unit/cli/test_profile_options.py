"""The options of `profile`, up to what would run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.cli.main import main
from rocm_perf.cli.profile import CountersCommand, ProfileCommand, TraceCommand
from rocm_perf.cli.profile_request import request_of
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import UsageError
from rocm_perf.model.window import Window
from tests.fake_tools import fake_path, run_tool
from tests.unit.backends.machines import amd
from tests.unit.cli.parsing import parsed

APP = ("sh", "-c", "true")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An MI300X with rocprofv3, and nothing that could start: a run is refused."""
    monkeypatch.setattr("rocm_perf.backends.probe.probe_machine", amd)
    monkeypatch.setattr("rocm_perf.collect.run.session.record", _nothing_starts)
    monkeypatch.chdir(tmp_path)


def _nothing_starts(*_: object) -> None:
    raise AssertionError("something was started")


def request(*words: str) -> Request:
    return request_of(parsed(ProfileCommand(), *words))[0]


def dry(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["profile", "--dry-run", "--json", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("words", "app"),
    [
        (("--", "sh", "--", "--weird args"), ("sh", "--", "--weird args")),
        (("--json", "--", "sh", "--json", "-o", "x"), ("sh", "--json", "-o", "x")),
        (("--pmc", "SQ_WAVES", "GRBM_COUNT", "--", "sh", "--pmc"), ("sh", "--pmc")),
        (("--sample", "--", "sh", ""), ("sh", "")),
        (("sh", "--dry-run"), ("sh", "--dry-run")),
        (("--", "sh", "-c", "--", "--", "a  b"), ("sh", "-c", "--", "--", "a  b")),
        (("--measure-overhead", "--", "sh", "--version"), ("sh", "--version")),
    ],
)
def test_everything_behind_the_first_dashes_is_the_applications(
    words: tuple[str, ...], app: tuple[str, ...]
) -> None:
    assert request(*words).command == app


def test_the_default_is_auto() -> None:
    made = request("--", *APP)
    assert (made.preset, made.wish.domains, made.counters) == (
        "auto",
        ("kernel", "hip", "copy", "marker"),
        (),
    )


def test_flags_stand_instead_of_a_preset_or_beside_one() -> None:
    assert request("--kernel-trace", "--", *APP).wish.domains == ("kernel",)
    assert request("--kernel-trace", "--", *APP).preset == ""
    beside = request("--preset", "rocprofv3_compute", "--rccl-trace", "--", *APP)
    assert (beside.preset, beside.wish.domains) == ("compute", ("kernel", "hip", "rccl"))
    assert request("--kernel-include-regex", "x", "--", *APP).preset == "auto"


def test_counters_come_beside_the_trace(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("pmc: SQ_WAVES\npmc: GRBM_COUNT\n")
    made = request("--counters", "counters_basic", "SQ_BUSY_CYCLES,SQ_WAVES", "@mine.txt", "--", *APP)
    assert made.preset == "auto"
    assert made.counters == ("counters_basic", "SQ_BUSY_CYCLES", "SQ_WAVES")
    assert made.counter_passes == (("SQ_WAVES",), ("GRBM_COUNT",))


def test_the_rest(tmp_path: Path) -> None:
    made = request(
        "-d", "runs", "--output-file", "%pid%", "--run-id", "r", "--force-overwrite", "--timeout", "2.5",
        "--measure-overhead", "3",
        "--sample", "memory", "--sample-interval", "0.5", "--library-trace", "--env", "A=b=c", "--env", "E=",
        "--torch-wait", "1", "--torch-active", "2", "--no-torch-shapes", "--torch-stacks", "--tool-arg=--kernel-rename",
        "--profiler", "rocprofv3", "--json", "--", *APP,
    )  # fmt: skip
    assert made.output == str(tmp_path / "runs")
    assert (made.run_id, made.force_overwrite, made.timeout_s, made.overhead_runs) == ("r", True, 2.5, 3)
    assert (made.sampling.metrics, made.sampling.interval_s) == (("memory",), 0.5)
    assert made.library_trace
    assert made.environment == {"A": "b=c", "E": ""}
    assert (made.wish.torch.wait, made.wish.torch.active, made.wish.torch.shapes) == (1, 2, False)
    assert made.wish.torch.stacks
    assert (made.wish.output_name, made.wish.tool_args) == ("%pid%", ("--kernel-rename",))
    assert (made.profiler, made.stdout_to_stderr) == ("rocprofv3", True)
    assert request("--sample", "--", *APP).sampling.metrics == ("power", "memory")


def test_o_names_the_folder_of_the_run(tmp_path: Path) -> None:
    """As everybody types it first; below -d where both are given."""
    made = request("-o", "out/mine", "--", *APP)
    assert (made.output, made.run_id, made.wish.output_name) == (str(tmp_path / "out"), "mine", "")
    assert request("--output", str(tmp_path / "x"), "--", *APP).run_id == "x"
    both = request("-d", "runs", "-o", "mine", "--", *APP)
    assert (both.output, both.run_id) == (str(tmp_path / "runs"), "mine")
    with pytest.raises(UsageError, match="both name the run"):
        request("-o", "mine", "--run-id", "r", "--", *APP)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"holds other files: .* record below it with -d"):
        request("-o", "full", "--", *APP)


def test_an_absolute_name_of_the_profilers_files_keeps_them_in_the_runs_folder(tmp_path: Path) -> None:
    made = request("--output-file", str(tmp_path / "elsewhere" / "results"), "--", *APP)
    assert made.wish.output_name == "results"


def test_sets_may_be_named_as_their_files_and_counter_is_counters() -> None:
    assert request("--counter", "memory_bound.txt", "--", *APP).counters == ("memory_bound",)
    assert request("--counters", "SQ_WAVES", "--counter", "SQ_BUSY_CYCLES", "--", *APP).counters == (
        "SQ_WAVES",
        "SQ_BUSY_CYCLES",
    )


@pytest.mark.parametrize(
    ("variables", "warned"),
    [
        (("PYTORCH_TUNABLEOP_ENABLED=1",), True),
        (("PYTORCH_TUNABLEOP_ENABLED=1", "PYTORCH_TUNABLEOP_TUNING=0"), False),
        (("PYTORCH_TUNABLEOP_ENABLED=0",), False),
        ((), False),
    ],
)
def test_tuning_during_a_recording_is_warned_of(variables: tuple[str, ...], warned: bool) -> None:
    words = [word for variable in variables for word in ("--env", variable)]
    _, notices = request_of(parsed(ProfileCommand(), *words, "--", *APP))
    assert any("PYTORCH_TUNABLEOP_TUNING=0" in notice for notice in notices) == warned


def test_a_configuration_and_what_the_options_add(tmp_path: Path) -> None:
    tools = [{"name": "rocprofv3_memory"}, {"name": "gpu_info_power_profiler"}]
    context = json.dumps({"tools": tools, "env_vars": {"A": 1, "B": 2}})
    made = request("--additional-context", context, "--env", "A=own", "--sample", "memory", "--", *APP)
    assert (made.preset, made.counters) == ("memory", ("memory_bound",))
    assert made.environment == {"A": "own", "B": "2"}
    assert made.sampling.metrics == ("power", "memory")
    chosen = request("--additional-context", context, "--preset", "hip_only", "--", *APP)
    assert (chosen.preset, chosen.wish.domains, chosen.counters) == ("hip_only", ("hip",), ())
    (tmp_path / "c.json").write_text(context)
    assert request("--additional-context-file", "c.json", "--", *APP).preset == "memory"


def test_profiler_timing_is_the_preset_timing() -> None:
    assert request("--profiler", "timing", "--", *APP).preset == "timing"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "no application to run"),
        (("--",), 2, "no application to run"),
        (("--", "./no-such-app"), 2, "there is no application ./no-such-app"),
        (("--preset", "computee", "--", *APP), 2, "the nearest is compute"),
        (("--profiler", "rocprofv4", "--", *APP), 2, "the nearest is rocprofv3"),
        (("--profiler", "rocprofv2", "--", *APP), 3, "rocprofv2 cannot profile this here"),
        (("--counters", "SQ_WAVEZ", "--", *APP), 2, "similar names: SQ_WAVES"),
        (("--counters", "counters_basicc", "--", *APP), 2, "counters_basicc"),
        (("-p", "123", "--", *APP), 2, "rocprofv3 -p 123"),
        (("--attach", "123", "--", *APP), 2, "rocprofv3 -p 123"),
        (("-d", "/dev/null/x", "--", *APP), 6, "/dev/null is not a folder"),
        (("--additional-context", '{"tools": 5}', "--", *APP), 2, "$.tools"),
        (
            ("--additional-context", "{}", "--additional-context-file", "x", "--", *APP),
            2,
            "cannot be combined",
        ),
        (("--additional-context-file", "none.json", "--", *APP), 6, "cannot read none.json"),
    ],
)
def test_bad_requests_are_one_clear_line_and_start_nothing(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, told: str
) -> None:
    assert main(["profile", "--dry-run", *words]) == code
    error = capsys.readouterr().err
    assert told in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--top", "0"),
        ("--timeout", "0"),
        ("--timeout", "inf"),
        ("--sample", "volts"),
        ("--env", "A"),
        ("--output-format", "weird"),
        ("--torch-wait", "-1"),
        ("--no-such-option",),
        ("--pre", "auto"),
    ],
)
def test_options_that_make_no_sense(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["profile", *words, "--", *APP])
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_dry_run_prints_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--preset", "compute", "--measure-overhead", "2", "--run-id", "r7", "--", "sh", "-c", "a  b")
    assert main(["profile", "--dry-run", *words]) == 0
    text = capsys.readouterr().out
    assert "rocprofv3: AMD's current profiler is installed" in text
    assert text.count("$ /opt/rocm/bin/rocprofv3 ") == 5
    assert "-- sh -c 'a  b'" in text
    assert "/rocm-perf-runs/r7/node/rank-PID/pass_1" in text
    assert "writes **/*_results.db" in text
    assert "plus 2 times without a profiler" in text
    assert "if nothing is recorded: timing" in text


def test_dry_run_says_what_it_could_not_and_why_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    older = amd("gfx1151", "6.2", tools=("rocprofv2",))
    monkeypatch.setattr("rocm_perf.backends.probe.probe_machine", lambda: older)
    assert main(["profile", "--dry-run", "--preset", "compute", "--", *APP]) == 0
    text = capsys.readouterr().out
    assert "not rocprofv3: it is not on this machine" in text
    assert "could not: counters: gfx1151 has it from ROCm 7.2 on" in text
    assert "note: rocprofv2 of ROCm 6.2 and later mostly records only kernels" in text


def test_dry_run_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = dry(capsys, "--counters", "SQ_WAVES", "--", *APP)
    assert found["schema_version"] == 1
    assert [plan["profiler"] for plan in found["plans"]] == ["rocprofv3", "timing"]
    assert found["plans"][0]["runs"][1]["counters"] == ["SQ_WAVES"]
    assert found["request"]["command"] == list(APP)


def test_the_shortcuts(capsys: pytest.CaptureFixture[str]) -> None:
    command = CountersCommand()
    assert command.run(parsed(command, "--dry-run", "--", *APP)) == 0
    assert "pass_2: counters (GRBM_GUI_ACTIVE" in capsys.readouterr().out
    assert command.run(parsed(command, "--dry-run", "--pmc", "SQ_WAVES", "--", *APP)) == 0
    assert "GRBM_GUI_ACTIVE" not in capsys.readouterr().out
    trace = TraceCommand()
    assert trace.run(parsed(trace, "--dry-run", "--", *APP)) == 0
    assert "--sys-trace" in capsys.readouterr().out


def test_a_second_profiler_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/opt/rocm/lib/librocprofiler-sdk-tool.so")
    assert main(["profile", "--", *APP]) == 2
    assert "unset LD_PRELOAD" in capsys.readouterr().err


def test_the_options_do_not_slow_the_start() -> None:
    """Every start builds the parser: nothing heavy may come in with it."""
    code = "import sys, rocm_perf.cli.main as m; m.build_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"msgspec", "polars", "rich"} & set(done.stdout.split())


@pytest.mark.launches
@pytest.mark.parametrize("rocm", ["5.7", "7.2"])
def test_profile_end_to_end_against_the_stand_ins(tmp_path: Path, rocm: str) -> None:
    tools = ("rocprofv2", "rocprof", "rocminfo") if rocm == "5.7" else ("rocprofv3", "rocminfo")
    environment = fake_path(tmp_path, tools, FAKE_ROCM=rocm)
    perf = (sys.executable, "-m", "rocm_perf.cli.main", "profile", "--counters", "SQ_WAVES", "-d", "runs")
    app = ("sh", "-c", 'printf "%s|" "$@"; exit 7', "sh", "--", "--weird  args")
    ended = run_tool(environment, *perf, "--", *app, cwd=tmp_path)
    assert ended.returncode == 7, ended.stderr
    assert "--|--weird  args|" in ended.stdout
    assert len(list((tmp_path / "runs").rglob("rocm-perf-run.json"))) == 1


def test_a_part_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    document = dry(capsys, "--delay", "5", "--duration", "2.5", "--", *APP)
    window = document["request"]["wish"]["window"]
    assert {name: value for name, value in window.items() if value} == {"delay_s": 5.0, "duration_s": 2.5}
    assert set(window) == {
        "delay_s",
        "duration_s",
        "duty",
        "period_s",
        "max_bytes",
        "last_s",
        "range",
        "steps",
    }
    argv = document["plans"][0]["runs"][0]["command"]["argv"]
    assert argv[argv.index("--collection-period") + 1] == "5:2.5:1"
    assert main(["profile", "--dry-run", "--delay", "5", "--", *APP]) == 0
    assert "window: from 5 s after the start" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["profile", "trace", "counters"])
def test_every_verb_that_records_takes_a_window(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--dry-run", "--json", "--range", "@profiler", "--", *APP]) == 0
    runs = json.loads(capsys.readouterr().out)["plans"][0]["runs"]
    assert runs
    assert all("--selected-regions" in run["command"]["argv"] for run in runs)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--last", "5"), 4, "no profiler here can record the last 5 s: rocprofv3 has no ring"),
        (("--profiler", "rocprofv3", "--last", "5"), 4, "rocprofv3 cannot profile this here"),
        (("--steps", "5..3"), 2, "Write --steps 3..5."),
        (("--delay", "1", "--last", "2"), 2, "cannot be combined"),
        (("--delay", "1", "-P", "1:1:1"), 2, "--collection-period both choose"),
        (("--range", "@profiler", "--selected-regions"), 2, "--selected-regions both choose"),
    ],
)
def test_a_window_that_cannot_be_is_one_line(
    words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--dry-run", *words, "--", *APP]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_options_come_before_the_window_of_a_configuration() -> None:
    context = '{"tools": [{"name": "rocprofv3_sys"}], "window": {"delay": 3, "duration": 4}}'
    assert request("--additional-context", context, "--", *APP).wish.window == Window(delay_s=3, duration_s=4)
    named = request("--additional-context", context, "--range", "step", "--", *APP)
    assert named.wish.window == Window(range="step")
