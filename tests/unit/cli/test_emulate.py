"""`emulate` before anything runs: what it would do, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.cli.emulate import EmulateCommand
from rocm_perf.errors import NotSupportedError, ToolAbsentError, UsageError
from tests.unit.cli.parsing import parsed
from tests.unit.softgpu.test_packages import unpacked


def run(*words: str) -> int:
    return EmulateCommand().run(parsed(EmulateCommand(), *words))


def test_dry_run_says_what_would_run_on_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", unpacked(tmp_path, "6.4")["XDG_CACHE_HOME"])
    words = (
        "--dry-run",
        "--json",
        "--rocr",
        "6.4",
        "--device",
        "MI210",
        "--count",
        "2",
        "--",
        "/bin/true",
        "-x",
    )
    assert run(*words) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan == {
        "schema_version": 1,
        "device": "AMD Instinct MI210",
        "gfx": "gfx90a",
        "count": 2,
        "rocr": "6.4",
        "command": ["/bin/true", "-x"],
    }


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ((), UsageError, "there is no program to run"),
        (("--", "no-such-program"), UsageError, "no-such-program"),
        (("--device", "MI60", "--", "/bin/true"), NotSupportedError, "there is no software"),
        (("--rocr", "3.0", "--", "/bin/true"), UsageError, "known: 7.2"),
        (("--", "/bin/true"), ToolAbsentError, "rocm-perf emulate --fetch"),
    ],
)
def test_what_cannot_run_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(error, match=message):
        run(*words)
