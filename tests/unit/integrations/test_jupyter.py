"""What a notebook shows, in a real IPython."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import rocm_perf
from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.timeline.build import timeline
from rocm_perf.errors import UsageError
from rocm_perf.model.run import Loss, RunInfo
from rocm_perf.render.notebook.displays import document_html, trace_html
from rocm_perf.render.page.page import page
from tests.unit.analysis.traces import kernel, trace
from tests.unit.render.documents import ROOT, simulated

GELU = ROOT / "tests" / "data" / "h200" / "pairs" / "gelu_fused.pt.trace.json.gz"
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The IPython of this process, with nothing registered, which remembers nothing."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    for name in [name for name in ("load", "analyze", "compare", "report") if name in vars(rocm_perf)]:
        monkeypatch.delattr(rocm_perf, name)  # as in a fresh process
    config = Config()
    config.HistoryManager.enabled = False
    made: Any = InteractiveShell.instance(config=config)
    yield made
    InteractiveShell.clear_instance()


def displays(shell: Any, name: str) -> dict[str, str]:
    """What a cell with this name alone would show, by kind."""
    shown, _ = shell.display_formatter.format(shell.user_ns[name])
    return dict(shown)


def run(shell: Any, code: str) -> None:
    shell.run_cell(code).raise_error()


def test_traces_and_documents_are_shown_without_being_asked_for(shell: Any) -> None:
    run(
        shell, f"import rocm_perf; trace = rocm_perf.load({str(GELU)!r}); document = rocm_perf.analyze(trace)"
    )
    shown = displays(shell, "trace")
    assert shown["text/plain"].startswith("Trace(torch.profiler: dispatches=300")
    assert "<code>dispatches</code></td><td>300</td>" in shown["text/html"]
    assert "NVIDIA H200" in shown["text/html"]
    answer = displays(shell, "document")["text/html"]
    assert (
        "Of a step of 1.51 ms the GPU computes 1.49 ms (98.5 %) and is idle for 21.0 us (1.4 %): its kernels"
        in answer
    )
    assert "<b>88.6 % of the kernel time is unfused elementwise kernels</b>" in answer
    assert "vectorized_elementwise_kernel&lt;MulFunctor&gt;" in answer


def test_comparisons_are_shown_as_markdown(shell: Any) -> None:
    run(shell, f"import rocm_perf; both = rocm_perf.compare({str(GELU)!r}, {str(GELU)!r})")
    assert displays(shell, "both")["text/markdown"].startswith("# before -> after")


def test_the_extension_can_be_loaded(shell: Any) -> None:
    shell.user_ns["trace"] = trace(dispatches=[kernel("k", 0, 5)])
    assert "text/html" not in displays(shell, "trace")
    run(shell, "%load_ext rocm_perf")
    assert "<code>dispatches</code>" in displays(shell, "trace")["text/html"]


def in_a_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["benchmark", "annotate"])
def test_a_program_without_ipython_imports_nothing_of_it(name: str) -> None:
    modules = "[name for name in sys.modules if 'jupyter' in name or 'IPython' in name]"
    assert in_a_process(f"import sys, rocm_perf; rocm_perf.{name}; print({modules})") == "[]\n"


def test_registering_imports_nothing_heavy() -> None:
    code = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell; "
        "from traitlets.config import Config; config = Config(); config.HistoryManager.enabled = False; "
        "InteractiveShell.instance(config=config); import rocm_perf; rocm_perf.annotate; "
        "print('rocm_perf.integrations.jupyter' in sys.modules, 'polars' in sys.modules, 'jinja2' in sys.modules)"
    )
    assert in_a_process(code) == "True False False\n"


def test_names_in_a_recording_are_text() -> None:
    recorded = trace(dispatches=[kernel(HOSTILE, 0, 5)]).described(
        RunInfo(tool=HOSTILE, command=HOSTILE, losses=(Loss(HOSTILE, HOSTILE),))
    )
    for html in (trace_html(recorded), document_html(overview(recorded, HOSTILE))):
        assert "<script" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
        assert not [each for each in html if not each.isprintable() and each != "\n"]


def test_a_recording_of_nothing_says_so() -> None:
    assert "Nothing is recorded in it." in trace_html(trace())
    assert "Nothing is recorded in it." in document_html(overview(trace(), "x"))


class Attributes(HTMLParser):
    """The attributes of the last element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.of: dict[str, str | None] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.of = {"tag": tag, **dict(attrs)}


def test_a_report_is_the_page_in_a_frame_and_a_file(tmp_path: Path) -> None:
    report = rocm_perf.report(GELU)
    frame = Attributes(report._repr_html_()).of
    assert frame["tag"] == "iframe"
    assert frame["sandbox"] == "allow-scripts"
    recording = rocm_perf.load(GELU)
    document = rocm_perf.analyze(GELU)
    assert frame["srcdoc"] == report.html == page(document, timeline(recording, document))
    path = report.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(UsageError, match="exists already"):
        report.save(path)
    assert report.save(path, overwrite=True) == path
    assert len(repr(report)) < 200


def test_the_verdict_of_a_simulated_run_is_shown_in_full() -> None:
    html = document_html(simulated("sync_in_loop"))
    assert "the host&#39;s waiting is the limit" in html
    assert "360 launches, 360 kernels recorded, 360 paired (100.0 %)" in html
