"""`rocm-perf report`: what it writes where, and what it refuses."""

from __future__ import annotations

import json
import re
import webbrowser
from pathlib import Path

import pytest

import rocm_perf
from rocm_perf.cli.main import main
from rocm_perf.cli.report import _named_after
from rocm_perf.model import bundle
from tests.unit.render.documents import ROOT

WORKLOAD = ROOT / "examples" / "workloads" / "sync_in_loop.toml"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "sync_in_loop"
    bundle.write(rocm_perf.simulate(WORKLOAD), folder)
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.whole
def test_a_page_unless_another_name_says_otherwise(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(recording)]) == 0
    assert (tmp_path / "sync_in_loop.html").read_text().startswith("<!doctype html>")
    assert capsys.readouterr().err == "rocm-perf: wrote sync_in_loop.html\n"
    assert main(["report", str(recording)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["report", str(recording), "--force"]) == 0


def test_markdown_has_its_pictures_beside_it(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(recording), "-o", "out/r.md"]) == 0
    text = (tmp_path / "out" / "r.md").read_text()
    assert "## Findings" in text
    pictures = sorted(path.name for path in (tmp_path / "out").glob("*.svg"))
    assert pictures == sorted(re.findall(r"\]\((.*?\.svg)\)", text))
    assert "r-phases.svg" in pictures
    assert f"{len(pictures)} pictures beside it" in capsys.readouterr().err


def test_a_picture_that_is_there_is_not_replaced(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "r-phases.svg").write_text("mine")
    assert main(["report", str(recording), "-o", "r.md"]) == 2
    assert not (tmp_path / "r.md").exists()
    assert (tmp_path / "r-phases.svg").read_text() == "mine"


def test_markdown_on_stdout(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(recording), "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("# sync_in_loop")
    assert not list(tmp_path.iterdir())


def test_json_says_what_was_written(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(recording), "-o", "r.html", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written == {"files": [{"path": "r.html", "bytes": (tmp_path / "r.html").stat().st_size}]}


@pytest.mark.parametrize(
    "options", [["-o", "r.pdf"], ["-o", "r"], ["-o", "-", "--json"], ["-o", "r.md", "--open"], ["-o", "."]]
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "missing"), *options]) == 2
    assert "missing" not in capsys.readouterr().err


@pytest.mark.whole
def test_a_part_of_the_recording(recording: Path, tmp_path: Path) -> None:
    assert main(["report", str(recording), "-o", "all.html", "--window", "all"]) == 0
    assert main(["report", str(recording), "-o", "part.html", "--window", "0..1ms"]) == 0
    everything, part = (page_kernels(tmp_path / name) for name in ("all.html", "part.html"))
    assert 0 < part < everything


def page_kernels(path: Path) -> int:
    dispatches = re.search(r"([\d,]+) dispatches of", path.read_text())
    assert dispatches is not None
    return int(dispatches[1].replace(",", ""))


@pytest.mark.parametrize("has_browser", [True, False])
@pytest.mark.whole
def test_the_page_is_opened_where_there_is_a_browser(
    recording: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    has_browser: bool,
) -> None:
    opened: list[str] = []

    def open_page(address: str) -> bool:
        opened.append(address)
        return has_browser

    monkeypatch.setattr(webbrowser, "open", open_page)
    assert main(["report", str(recording), "--open"]) == 0
    assert opened == [(tmp_path / "sync_in_loop.html").as_uri()]
    assert ("by hand" in capsys.readouterr().err) != has_browser


@pytest.mark.whole
def test_from_python(recording: Path, tmp_path: Path) -> None:
    made = rocm_perf.report(recording)
    assert made.save(tmp_path / "r.html").read_text() == made.html
    assert rocm_perf.report(rocm_perf.load(recording)).html.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/results.json.gz", "results.html"),
        ("rank0-7.pt.trace.json", "rank0-7.html"),
        ("runs/2026.11.19", "2026.11.19.html"),
        ("/", "report.html"),
    ],
)
def test_a_report_is_named_after_its_recording(path: str, name: str) -> None:
    assert _named_after(Path(path)) == Path(name)
