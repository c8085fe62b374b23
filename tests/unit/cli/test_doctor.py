"""`rocm-perf doctor`, on laid-out machines with the stand-ins for the tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.backends import host, probe
from rocm_perf.cli.main import main
from tests.fake_tools import fake_path
from tests.unit.backends.machines import lay_out_amd, lay_out_host, lay_out_nvidia, write


def placed(monkeypatch: pytest.MonkeyPatch, root: Path, environment: Mapping[str, str]) -> None:
    """This process is on that machine."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    real = probe.probe_machine
    monkeypatch.setattr(probe, "probe_machine", lambda: real(None, root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def asked(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict[str, Any]]:
    code = main(["doctor", "--json", *args])
    return code, json.loads(capsys.readouterr().out)


def works(document: dict[str, Any], gpu: int = 0) -> dict[str, str]:
    return {answer["method"]: answer["works"] for answer in document["gpus"][gpu]["methods"]}


@pytest.mark.parametrize("width", [80, 160])
def test_an_mi300x(
    root: Path,
    tmp_path: Path,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    placed(
        monkeypatch, lay_out_amd(root, count=2), fake_path(tmp_path, ["rocprofv3", "hipcc"], FAKE_ROCM="7.2")
    )
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("Yes: API trace, kernel trace, counters, PC sampling and roofline work on AMD")
    assert any(line.startswith("GPUs 0 to 1: AMD Instinct MI300X (gfx942") for line in lines)


def test_json_carries_everything(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"], FAKE_ROCM="7.2", PYTORCH_TUNABLEOP_ENABLED="1")
    placed(monkeypatch, lay_out_amd(root, "gfx1151", rocms=("7.2.0", "6.4.1")), environment)
    code, document = asked(capsys)
    assert code == document["exit_code"] == 0
    assert document["schema_version"] == 1
    assert document["machine"]["gpus"][0]["gfx"] == "gfx1151"
    assert document["machine"]["environment"]["PYTORCH_TUNABLEOP_ENABLED"] == "1"
    assert [problem["id"] for problem in document["problems"]] == ["several-rocms", "tunableop"]
    assert works(document)["counters"] == "yes"
    assert works(document)["PC sampling, host trap"] == "untested"
    assert {"verdict", "versions", "access", "tools", "producer"} < set(document)


@pytest.mark.parametrize(("tools", "code"), [(["rocprofv2", "rocprof"], 0), (["rocprofv3"], 3), ([], 3)])
def test_rocm_5_7(
    tmp_path: Path,
    tools: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = lay_out_amd(tmp_path / "root", "gfx90a")
    placed(monkeypatch, root, fake_path(tmp_path, tools, FAKE_ROCM="5.7"))
    assert asked(capsys)[0] == code


def test_no_gpu(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    placed(monkeypatch, lay_out_host(root), {"PATH": "/nowhere"})
    assert main(["doctor"]) == 3
    assert capsys.readouterr().out.startswith("No: no GPU was found.")
    assert main(["doctor", "--probe"]) == 3  # nothing to try


def test_no_permission(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    placed(monkeypatch, lay_out_amd(root), fake_path(tmp_path, ["rocprofv3"]))
    monkeypatch.setattr(host, "opens", lambda path, flags: False)
    monkeypatch.setattr(host, "group_names", lambda root: ("ada",))
    code, document = asked(capsys)
    assert code == 3
    assert document["problems"][0]["id"] == "device-denied"
    assert document["problems"][0]["next_command"].startswith("sudo ")
    assert set(works(document).values()) == {"no"}


def test_docker_without_devices(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out_amd(root, devices=False)
    write(root / ".dockerenv", "")
    placed(monkeypatch, root, {"PATH": "/nowhere"})
    assert main(["doctor"]) == 3
    assert "docker run --device=/dev/kfd --device=/dev/dri" in capsys.readouterr().out


def test_an_h200(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out_nvidia(root, admin_only=1)
    write(root / "usr/local/cuda-13.0/lib64/libcupti.so.13", "")
    write(root / "usr/local/cuda-13.0/include/cupti.h", "")
    environment = fake_path(tmp_path, ["nvidia-smi", "nvcc"])
    write(tmp_path / "fake-rocm/bin/c++", "#!/bin/sh\necho 'c++ 12.2.0'\n").chmod(0o755)
    placed(monkeypatch, root, environment)
    code, document = asked(capsys)
    found = works(document)
    assert code == 0
    assert (found["kernel trace"], found["API trace"], found["counters"], found["ATT"]) == (
        "yes",
        "yes",
        "no",
        "no",
    )
    assert [problem["id"] for problem in document["problems"]] == ["counters-restricted"]


PROBED = ("rocprofv3", "rocprofv3-avail", "rocminfo", "hipcc")


def probed(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    **variables: str,
) -> tuple[int, dict[str, Any]]:
    lay_out_amd(root, variables.get("FAKE_GPU", "gfx942"))
    placed(monkeypatch, root, fake_path(tmp_path, PROBED, **variables))
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    code, document = asked(capsys, "--probe", "--", "true")
    assert set(tmp_path.iterdir()) == before
    return code, document


@pytest.mark.launches
def test_probing_tries_each_method(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = probed(root, tmp_path, monkeypatch, capsys, FAKE_GPU="gfx942", FAKE_ROCM="7.2")
    assert code == 0
    trials = {answer["method"]: answer["trial"] for answer in document["gpus"][0]["methods"]}
    for name in ("timing", "API trace", "kernel trace", "counters", "PC sampling, host trap"):
        assert trials[name]["works"], (name, trials[name])
        assert trials[name]["wall_s"] > 0
    assert "rows of dispatches through rocprofv3" in trials["kernel trace"]["words"]
    assert trials["torch.profiler"] is None
    assert trials["ATT"] is None  # no decoder


@pytest.mark.launches
def test_probing_finds_what_does_not_work(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = {"FAKE_GPU": "gfx942", "FAKE_ROCM": "7.2", "FAKE_FAULT": "aqlprofile"}
    code, document = probed(root, tmp_path, monkeypatch, capsys, **variables)
    found = works(document)
    assert code == 0
    assert (found["kernel trace"], found["counters"], found["roofline"]) == ("yes", "no", "no")
    counters = next(answer for answer in document["gpus"][0]["methods"] if answer["method"] == "counters")
    assert not counters["trial"]["works"]
    assert counters["trial"]["words"]


@pytest.mark.launches
def test_probing_a_profiler_that_records_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = probed(root, tmp_path, monkeypatch, capsys, FAKE_ROCM="7.2", FAKE_FAULT="empty")
    assert code == 4
    assert works(document)["timing"] == "yes"
    assert works(document)["kernel trace"] == "no"


def test_probing_without_a_program_to_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    placed(monkeypatch, lay_out_amd(root), fake_path(tmp_path, ["rocprofv3"]))
    assert main(["doctor", "--probe"]) == 3
    assert "Give a program of your own: rocm-perf doctor --probe -- ./app" in capsys.readouterr().err
