"""What the worker process makes of loaded runs: the files that pages are served from."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.timeline.build import timeline
from rocm_perf.analysis.timeline.derived import derived_tracks
from rocm_perf.analysis.trust.sanity import sanity
from rocm_perf.ingest.load import Loaded
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import perfetto
from rocm_perf.render.page.comparison import comparison_page
from rocm_perf.render.page.page import page
from rocm_perf.render.page.templates import Link
from rocm_perf.serve.folders import Run
from rocm_perf.serve.summary import summarise
from rocm_perf.serve.wish import COMPARISON, REPORT, SAVED, SUMMARY, TRACE, Order
from rocm_perf.text import compact_json

_ALL_RUNS = "All runs"


def write_report(loaded: Loaded, order: Order) -> None:
    """Write the report of a run as it is shown and as it is saved, and its summary for the list."""
    (run,) = order.wish.base
    links = (
        Link(_ALL_RUNS, "../"),
        Link("Open in Perfetto", f"../perfetto/{run.id}"),
        Link("Save", f"../save/{run.id}"),
    )
    document = examine(_trace(loaded), loaded.label, machines=order.machines)
    drawn = timeline(_trace(loaded), document)
    _write(order, REPORT, page(document, drawn, links))
    _write(order, SAVED, page(document, drawn))
    (order.folder / SUMMARY).write_bytes(compact_json(summarise(document)))


def write_trace(loaded: Loaded, order: Order) -> None:
    """Write a run as Perfetto opens it."""
    trace, document = _examined(loaded, order)
    perfetto.write(trace, order.folder / TRACE, derived=derived_tracks(trace, document))


def write_comparison(base: Sequence[Loaded], new: Sequence[Loaded], order: Order) -> None:
    """Write what changed from one side to the other."""
    sides = [[_examined(loaded, order) for loaded in side] for side in (base, new)]
    before, after = ([_recording(*run) for run in side] for side in sides)
    comparison = compare(before, after, labels=(_label(order.wish.base), _label(order.wish.new)))
    middles = sides[0][comparison.base.middle], sides[1][comparison.new.middle]
    text = comparison_page(comparison, [timeline(*run) for run in middles], [Link(_ALL_RUNS, "./")])
    _write(order, COMPARISON, text)


def _examined(loaded: Loaded, order: Order) -> tuple[Trace, Document]:
    return _trace(loaded), examine(_trace(loaded), loaded.label, machines=order.machines)


def _recording(trace: Trace, document: Document) -> Recording:
    return Recording(document.label, trace, (*document.findings, *document.coverage.holes, *sanity(trace)))


def _label(runs: Sequence[Run]) -> str:
    return runs[0].name if len(runs) == 1 else f"{runs[0].name} and {len(runs) - 1} more"


def _trace(loaded: Loaded) -> Trace:
    assert loaded.trace is not None  # only such are passed on
    return loaded.trace


def _write(order: Order, name: str, text: str) -> None:
    (order.folder / name).write_text(text, encoding="utf-8", errors="replace")
