"""What the worker process makes of loaded runs: the files that pages are served from."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.load import Loaded
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import perfetto
from rocm_perf.render.report.markdown import markdown
from rocm_perf.serve.pages import text_page
from rocm_perf.serve.summary import summarise
from rocm_perf.serve.wish import COMPARISON, REPORT, SUMMARY, TRACE, Order
from rocm_perf.text import compact_json


def write_report(run: Loaded, order: Order) -> None:
    """Write the report of a run, and its summary for the list."""
    document = examine(_trace(run), run.label, machines=order.machines)
    (order.folder / SUMMARY).write_bytes(compact_json(summarise(document)))
    (order.folder / REPORT).write_bytes(text_page(run.label, markdown(document)).encode())


def write_trace(run: Loaded, order: Order) -> None:
    """Write a run as Perfetto opens it."""
    perfetto.write(_trace(run), order.folder / TRACE)


def write_comparison(base: Sequence[Loaded], new: Sequence[Loaded], order: Order) -> None:
    """Write what changed from one side to the other."""
    from rocm_perf.analysis.compare.populations import compare
    from rocm_perf.analysis.compare.runs import Recording
    from rocm_perf.render.report.comparison import comparison_markdown

    sides = [
        [Recording(run.label, _trace(run), examine(_trace(run), run.label).findings) for run in side]
        for side in (base, new)
    ]
    labels = order.wish.base[0].name, order.wish.new[0].name
    comparison = compare(sides[0], sides[1], labels)
    text = comparison_markdown(comparison, 20)
    (order.folder / COMPARISON).write_bytes(text_page(" -> ".join(labels), text).encode())


def _trace(run: Loaded) -> Trace:
    assert run.trace is not None  # only such are loaded
    return run.trace
