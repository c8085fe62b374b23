"""`rocm-perf gpus`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.arch import catalog
from rocm_perf.cli.main import main


@pytest.fixture(autouse=True)
def no_user_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PERF_GPUS", str(tmp_path))


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    assert main(["gpus", *args]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [80, 160])
def test_one_line_a_gpu(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(capsys)
    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)
    rows = [line.split() for line in lines[1 : len(catalog.gpus()) + 1]]
    assert [row[0] for row in rows if "gfx942" in row] == ["Instinct"] * 3
    row = next(row for row in rows if "MI300X" in row)
    assert row[:9] == ["Instinct", "MI300X", "gfx942", "304", "2100", "192", "5300", "163.4", "1307.4"]
    assert ("roofline" in lines[0]) == (width == 160)
    assert next(row for row in rows if "8060S" in row)[-1 if width == 80 else -5] == "7.2+"


def test_a_chip_lists_its_products(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "gfx90a")
    assert [line.split()[1] for line in lines[1:4]] == ["MI210", "MI250", "MI250X"]


def test_everything_about_one_gpu(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(capsys, "mi300x")
    assert all(len(line) <= 80 for line in lines)
    assert lines[0] == "AMD Instinct MI300X  gfx942, AMD CDNA 3"
    bandwidth = next(line.split() for line in lines if line.startswith("memory bandwidth"))
    assert bandwidth[2:4] == ["5300", "GB/s"]
    sources = lines[lines.index("Sources") + 1 :]
    number = bandwidth[4].strip("[]")
    assert any(
        line.split()[:1] == [number] and "AMD CDNA 3 architecture white paper" in line for line in sources
    )
    assert any(line.startswith("pc sampling stochastic") and "since ROCm 7.0" in line for line in lines)


def test_what_is_not_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "8060S")
    assert any(line.startswith("board power") and "unavailable: no source found" in line for line in lines)
    assert any(line.startswith("SGPRs per SIMD") and "no limit" in line for line in lines)


def test_json_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads("\n".join(printed(capsys, "--json")))
    assert document["schema_version"] >= 1
    assert [gpu["name"] for gpu in document["gpus"]] == [gpu.name for gpu in catalog.gpus()]
    one = json.loads("\n".join(printed(capsys, "MI300X", "--json")))["gpus"][0]
    assert one["matrix_tflops"]["f16"] == 1307.4
    assert one["sources"]["matrix_tflops.f16"]["url"].startswith("https://rocm.docs.amd.com")
    assert one["vgprs_per_simd"] == {"64": 512}


def test_bad_requests(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["gpus", "MI300Y"]) == 2
    assert "Near: AMD Instinct MI300" in capsys.readouterr().err
    assert main(["gpus", "rx 7900"]) == 2
    assert "matches several GPUs" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text("gfx = ")
    catalog._all.cache_clear()
    assert main(["gpus"]) == 6
    assert f"{tmp_path / 'bad.toml'} is not valid TOML" in capsys.readouterr().err
