"""rocminfo, amd-smi, rocm-smi, rocprofv3-avail and hipcc print what rocm-perf reads, for each GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace
from tests.fake_tools import fake_path, run_tool
from tests.fake_tools._fake import amd_smi, avail, hipcc, rocm_smi, rocminfo
from tests.fake_tools._fake.settings import GPUS

GFX = sorted(GPUS)


class Printed:
    """What the tools print, read by rocm-perf. They run in this process: starting one takes longer than its work."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._file = folder / "printed.txt"
        self._capture = capture

    def text(self, tool: object, *arguments: str) -> str:
        self._capture.readouterr()
        assert tool.main(list(arguments)) == 0  # type: ignore[attr-defined]
        return self._capture.readouterr().out

    def trace(self, tool: object, *arguments: str) -> Trace:
        self._file.write_text(self.text(tool, *arguments))
        return load(self._file)


@pytest.fixture
def printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Printed:
    return Printed(tmp_path, capsys)


@pytest.mark.parametrize("gfx", GFX)
def test_rocminfo_and_amd_smi_describe_the_same_gpus(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, gfx: str
) -> None:
    monkeypatch.setenv("FAKE_GPU", gfx)
    monkeypatch.setenv("FAKE_GPU_COUNT", "2")
    gpu = GPUS[gfx]
    agents = printed.trace(rocminfo).table("agents").filter(kind="GPU")
    assert agents.select("agent_id", "gfx", "name", "cu_count", "wave_size", "memory_bytes").rows() == [
        (node, gfx, gpu.name, gpu.compute_units, gpu.wave_size, gpu.memory_mb << 20) for node in (2, 3)
    ]
    shared = ("gfx", "name", "cu_count", "clock_mhz", "memory_bytes")
    for arguments in (("static",), ("static", "--json")):
        assert (
            printed.trace(amd_smi, *arguments).table("agents").select(shared).rows()
            == agents.select(shared).rows()
        )
    assert printed.trace(amd_smi, "list").table("agents")["agent_id"].to_list() == [2, 3]


@pytest.mark.parametrize("arguments", [("metric",), ("metric", "--json"), ("metric", "--csv")])
def test_amd_smi_metric(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    readings = dict(printed.trace(amd_smi, *arguments).table("samples").select("metric", "value").iter_rows())
    assert (readings["power_w"], readings["clock_mhz"], readings["temperature_c"]) == (150, 132, 41)
    assert (readings["vram_total_bytes"], readings["vram_used_bytes"]) == (196592 << 20, 283 << 20)
    monkeypatch.setenv("FAKE_GPU", "gfx1151")
    poor = set(printed.trace(amd_smi, *arguments).table("samples")["metric"])
    assert poor == {"temperature_edge_c", "vram_total_bytes", "vram_used_bytes"}


def test_amd_smi_takes_only_what_it_knows(printed: Printed, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(json.loads(printed.text(amd_smi, "metric", "-p", "--json"))["gpu_data"][0]) == {"gpu", "power"}
    for line in ("metrics", "metric --json --csv", "static --power-draw"):
        with pytest.raises(SystemExit) as caught:
            amd_smi.main(line.split())
        assert caught.value.code == 2


def test_rocm_smi(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("--showpower", "--showtemp", "--showmeminfo", "vram")
    for arguments in ((), (*asked, "--json"), (*asked, "--csv")):
        readings = dict(
            printed.trace(rocm_smi, *arguments).table("samples").select("metric", "value").iter_rows()
        )
        assert (readings["power_w"], readings["temperature_c"]) == (150, 41)
    monkeypatch.setenv("FAKE_GPU", "gfx1151")
    assert "power_w" not in set(printed.trace(rocm_smi).table("samples")["metric"])


@pytest.mark.parametrize("gfx", GFX)
def test_available_counters(printed: Printed, monkeypatch: pytest.MonkeyPatch, gfx: str) -> None:
    monkeypatch.setenv("FAKE_GPU", gfx)
    info = printed.trace(avail, "info", "--pmc").table("counter_info")
    assert set(info["gfx"]) == {gfx}
    waves = info.filter(counter="SQ_WAVES").row(0, named=True)
    assert (waves["block"], waves["derived"]) == ("SQ", False)
    assert info.filter(counter="FETCH_SIZE")["derived"].to_list() == [True]
    monkeypatch.setenv("FAKE_ROCM", "7.0")
    old = set(printed.trace(avail, "info", "--pmc").table("counter_info")["counter"])
    assert ("SQ_WAVES" in old) == (gfx != "gfx1151")


def test_lists_and_permission_as_programs(tmp_path: Path) -> None:
    environment = fake_path(
        tmp_path, ["rocprofv3", "rocprofv3-avail", "rocprof", "rocminfo", "amd-smi", "rocm-smi"]
    )
    listed = run_tool(environment, "rocprofv3", "-L")
    (tmp_path / "listed.txt").write_text(listed.stdout)
    trace = load(tmp_path / "listed.txt")
    assert (listed.returncode, trace.has("counter_info")) == (0, True)
    assert "stochastic by cycles" in " ".join(trace.run.notices)
    basic = run_tool(environment, "rocprof", "--list-basic", FAKE_ROCM="6.2")
    (tmp_path / "basic.txt").write_text(basic.stdout)
    assert (basic.returncode, load(tmp_path / "basic.txt").has("counter_info")) == (1, True)
    denied = run_tool(environment, "rocminfo", FAKE_FAULT="permission")
    assert (denied.returncode, "Permission denied" in denied.stdout) == (255, True)
    for tool in ("amd-smi", "rocm-smi", "rocprofv3-avail"):
        ran = run_tool(environment, tool, *(["metric"] if tool == "amd-smi" else []), FAKE_FAULT="permission")
        assert (ran.returncode != 0, "ermission denied" in ran.stderr) == (True, True)


def test_hipcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.hip").write_text("int main() {}\n")
    Path("bad.hip").write_text("\n#error not here\n")
    line = ["-O3", "--offload-arch=gfx942", "-std=c++17", "-DN=1", "-I", "include", "good.hip", "-o", "app"]
    assert hipcc.main(line) == 0
    assert json.loads(Path("app").read_text())["argv"] == line
    assert Path("app").stat().st_mode & 0o111
    assert hipcc.main(["-c", "good.hip"]) == 0
    assert Path("good.o").exists()
    for wrong, message in {
        "bad.hip -o bad": "bad.hip:2:2: error: not here",
        "absent.hip": "no such file or directory: 'absent.hip'",
        "good.hip --fast": "unsupported option '--fast'",
        "good.hip -zzz": "unknown argument: '-zzz'",
        "-O3": "no input files",
    }.items():
        assert hipcc.main(wrong.split()) == 1
        assert message in capsys.readouterr().err
    assert not Path("bad").exists()
    for rocm, version in {"5.7": "17.0.0git", "6.4": "18.0.0git", "10.0": "22.0.0git"}.items():
        monkeypatch.setenv("FAKE_ROCM", rocm)
        assert hipcc.main(["--version"]) == 0
        out = capsys.readouterr().out
        assert f"HIP version: {rocm}." in out
        assert version in out
