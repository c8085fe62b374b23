"""Everything reported about a run, as one document. Its topics are listed in model/document.py."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.roofline.build import Machines
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.analysis.verdict.findings import conclusions
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.topic import Topic, resolve
from rocm_perf.model.trace import Trace
from rocm_perf.version import __version__

_HERE = "rocm_perf.analysis"
_AT_ONCE = (
    2  # topics: Python runs one at a time, and its columns are computed outside of it; more take more memory
)


def examine(trace: Trace, label: str, grouping: Grouping = "full", *, machines: Machines = ()) -> Document:
    """Every analysis of the steady state of a run, or of all its work where nothing repeats."""
    return overview(focused(trace), label, grouping, whole=trace, machines=machines)


def overview(
    trace: Trace,
    label: str,
    grouping: Grouping = "full",
    *,
    whole: Trace | None = None,
    machines: Machines = (),
) -> Document:
    """Every analysis of one run, or of the part of `whole` that it is. What cannot be said carries the reason why.
    `machines`: what GPUs were measured to reach."""
    chosen = {"grouping": grouping, "machines": machines}
    steady, whole = whole is not None, whole or trace
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = {
            field: pool.submit(_answer, topic, reference, whole if topic.whole else trace, chosen)
            for topic in TOPICS
            for field, reference in topic.answers.items()
        }
    document = Document(
        label=label,
        producer=f"rocm-perf {__version__}",
        run=trace.run,
        steady=steady,
        formulas=formulas(),
        **{field: answer.result() for field, answer in answers.items()},
    )
    projections, findings = conclusions(document, trace, whole)
    return msgspec.structs.replace(document, projections=projections, findings=findings)


def _answer(topic: Topic, reference: str, trace: Trace, chosen: dict[str, Any]) -> Any:
    parameters = {name: chosen[name] for name in topic.parameters}
    return resolve(_HERE, reference)(trace, **parameters)


@cache
def formulas() -> dict[str, str]:
    """How the numbers of every topic are made, as the modules that make them state it."""
    references = [name for topic in TOPICS for name in (*topic.answers.values(), *topic.formulas)]
    modules = dict.fromkeys(reference.partition(":")[0] for reference in references)
    stated = (getattr(import_module(f"{_HERE}.{module}"), "FORMULAS", {}) for module in modules)
    return {number: formula for table in stated for number, formula in table.items()}
