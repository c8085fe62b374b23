"""`rocm-perf sample`: the sampler alone, and around a program."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from rocm_perf.cli.sample import SampleCommand
from rocm_perf.collect.sampling import samplers
from rocm_perf.errors import ToolAbsentError, UsageError
from tests.unit.backends import fake_sensors
from tests.unit.cli.test_ending import PATIENCE_S, wait_for


@pytest.fixture
def nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = fake_sensors.nvml_library(tmp_path / "driver")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(samplers, "_READY_S", 120.0)  # a busy machine takes its time to start and to end it
    monkeypatch.setattr(samplers, "_STOP_S", 120.0)


def _run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    SampleCommand().prepare_parser(parser)
    return SampleCommand().run(parser.parse_args(words))


@pytest.mark.usefixtures("nvidia")
def test_for_a_while(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--interval", "0.02", "--duration", "0.3", "-o", "s.csv") == 0
    out = capsys.readouterr().out
    assert "GPU 0: " in out
    assert "peak 650.2 W" in out
    assert "its own counter: " in out
    assert "through nvml" in out
    assert (tmp_path / "s.csv").exists()


@pytest.mark.usefixtures("nvidia")
def test_around_a_program_whose_exit_code_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    code = "import time; print('mine'); time.sleep(0.2); raise SystemExit(7)"
    assert _run("--interval", "0.02", "--", sys.executable, "-c", code) == 7
    out, err = capfd.readouterr()
    assert out == "mine\n"
    assert "wrote samples.csv" in err


@pytest.mark.usefixtures("nvidia")
def test_json_has_stdout_for_itself(capfd: pytest.CaptureFixture[str]) -> None:
    assert _run("--json", "--", sys.executable, "-c", "print('mine')") == 0
    out, err = capfd.readouterr()
    document = json.loads(out)
    assert "mine" in err
    assert document["energy"]["gpus"][0]["peak_power_w"] == 650.25
    assert document["counted_j"]["0"] > 0
    assert document["counted_j"]["1"] is None


def _is_handled(pid: int, number: signal.Signals) -> bool:
    status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return bool(int(status["SigCgt"], 16) >> (number - 1) & 1)


@pytest.mark.launches
@pytest.mark.usefixtures("nvidia")
def test_until_the_user_has_had_enough(tmp_path: Path) -> None:
    code = (
        "import sys, argparse\nfrom rocm_perf.cli.sample import SampleCommand\np = argparse.ArgumentParser()\n"
        "from rocm_perf.collect.sampling import samplers\nsamplers._STOP_S = 60\n"  # with a busy machine
        "SampleCommand().prepare_parser(p)\nsys.exit(SampleCommand().run(p.parse_args(['-o', 'i.csv'])))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    wait_for(lambda: _is_handled(process.pid, signal.SIGTERM))  # once it samples, together with SIGINT
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "peak 650.2 W" in out


@pytest.mark.launches
@pytest.mark.usefixtures("nvidia")
def test_a_full_disk_ends_the_sampling_and_what_was_read_is_reported(tmp_path: Path) -> None:
    code = (
        "import argparse, resource, sys\nfrom rocm_perf.cli.sample import SampleCommand\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\np = argparse.ArgumentParser()\n"
        "SampleCommand().prepare_parser(p)\nsys.exit(SampleCommand().run(p.parse_args(sys.argv[1:])))"
    )
    sample = [sys.executable, "-c", code, "--interval", "0.005"]
    # A limit on files is one on those of a measured coverage too.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    run = partial(subprocess.run, capture_output=True, text=True, cwd=tmp_path, check=False, env=plain)
    alone = run([*sample, "--duration", "4"])
    assert alone.returncode == 6
    assert "peak 650.2 W" in alone.stdout
    assert "note: the sampler ended early: cannot write" in alone.stdout
    program = [sys.executable, "-c", "import time; time.sleep(1); print('done'); raise SystemExit(7)"]
    around = run([*sample, "--force", "--", *program])
    assert (around.returncode, around.stdout) == (7, "done\n")


@pytest.mark.usefixtures("nvidia")
def test_bad_input_is_one_line_and_nothing_starts(tmp_path: Path) -> None:
    for words, said in (
        (("--interval", "1e-9"), "--interval 1e-09 is too short"),
        (("-o", "/dev/full", "--force"), "not a regular file"),
        (("-o", "absent/s.csv"), "cannot be written"),
    ):
        with pytest.raises(UsageError, match=said):
            _run(*words)
    for word in ("0", "-1", "nan", "inf", "1e300"):
        for option in ("--interval", "--duration"):
            with pytest.raises(SystemExit, match="2"):
                _run(option, word)
    (tmp_path / "samples.csv").write_text("precious")
    with pytest.raises(UsageError, match="--force"):
        _run("--duration", "0.1")
    assert (tmp_path / "samples.csv").read_text() == "precious"
    assert _run("--duration", "0.1", "--force") == 0


@pytest.fixture
def no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(samplers, "_READY_S", 120.0)
    monkeypatch.setattr(samplers, "_STOP_S", 120.0)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_it_ends_by_itself() -> None:
    with pytest.raises(ToolAbsentError, match="no GPU could be read: nothing was sampled"):
        _run()


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("script", "code", "words"),
    [("exit 7", 7, "failed with exit code 7"), ("kill -40 $$", 168, "was killed by SIGRTMIN+6")],
)
def test_without_a_gpu_the_failure_of_a_program_is_said_and_kept(
    script: str, code: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _run("--", "/bin/sh", "-c", script) == code
    said = capfd.readouterr().err.splitlines()
    assert said[0] == f"rocm-perf: the program {words}"
    assert "no GPU could be read" in said[1]


def test_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolAbsentError, match="no GPU could be read: nothing was sampled"):
        _run("--duration", "0.1")
