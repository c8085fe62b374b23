"""The list of profilers: each answers for itself, and nobody else knows one by its name."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import rocm_perf
from rocm_perf.backends.base import DOMAINS, Profiler
from rocm_perf.backends.profilers import NO_PROFILER, PROFILERS

PACKAGE = Path(rocm_perf.__file__).parent
# Where a profiler's name is a word for something else: by folder or file, and by name.
ELSEWHERE = {
    ("ingest", ""): "an adapter says which tool wrote the file",
    ("annotation", "torch"): "the Python module",
    ("inject", "torch"): "the Python module",
    ("backends/nvidia/build.py", "cupti"): "the folder with the sources of the tracer",
    ("backends/nvidia/probe.py", "cupti"): "the library",
    ("bench", "torch"): "the Python module",
    ("analysis/verdict/host_only.py", "jax"): "what the recorder calls itself",
    ("analysis/verdict/host_only.py", "torch"): "the Python package, in the record of a machine",
    ("analysis/remedies/setting.py", "jax"): "the framework",
    ("analysis/remedies/setting.py", "torch"): "the framework",
    ("backends/probe.py", "jax"): "the Python package",
    ("backends/probe.py", "torch"): "the Python package",
    ("inject/rocm_perf_jax_hook.py", "jax"): "the Python package",
    ("model/range_sources.py", "jax"): "where a range is from",
    ("replay/native.py", "torch"): "the Python package",
    ("collect/run/session.py", "torch"): "the Python package, in the record of a machine",
    ("cli/export.py", "rpd"): "the format",
    ("cli/export_writers.py", "rpd"): "the format",
    ("cli/export.py", "torch"): "the format",
    ("cli/export_writers.py", "torch"): "the format",
    ("collect/doctor/report.py", "torch"): "the Python package, beside its version",
    ("collect/request/configuration.py", "rocprofv3"): "a tool's name in a benchmark runner's configuration",
    ("collect/request/configuration.py", "rpd"): "a tool's name in a benchmark runner's configuration",
    ("collect/request/configuration.py", "rocm-trace-lite"): "what a benchmark runner's tool is with us",
    ("collect/request/configuration.py", "rocprof"): "a tool's name in a benchmark runner's configuration",
    ("analysis/limits/catalogue.py", "jax"): "through what a kernel is called",
    ("analysis/limits/catalogue.py", "torch"): "through what a kernel is called",
    ("collect/request/presets.py", "timing"): "the preset",
    ("model/collection.py", "timing"): "in records that were written before they said so otherwise",
}


def strings(file: Path) -> Iterator[str]:
    """Every string in a module."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def uses() -> set[tuple[str, str]]:
    """Modules that have the name of a profiler as a string, other than the profiler's own."""
    own = {name: Path(inspect.getfile(type(profiler))) for name, profiler in PROFILERS.items()}
    return {
        (file.relative_to(PACKAGE).as_posix(), text)
        for file in PACKAGE.rglob("*.py")
        for text in strings(file)
        if text in own and file != own[text]
    }


def covers(exception: tuple[str, str], use: tuple[str, str]) -> bool:
    (where, name), (file, used) = exception, use
    return f"{file}/".startswith(f"{where}/") and name in ("", used)


@pytest.mark.whole
def test_no_other_module_knows_a_profiler_by_its_name() -> None:
    found = uses()
    assert [use for use in sorted(found) if not any(covers(each, use) for each in ELSEWHERE)] == []
    assert [each for each in ELSEWHERE if not any(covers(each, use) for use in found)] == []


@pytest.mark.parametrize("profiler", PROFILERS.values(), ids=PROFILERS)
def test_each_says_what_it_is_for(profiler: Profiler) -> None:
    assert profiler.why
    assert profiler.offers
    assert set(profiler.domains) <= set(DOMAINS)
    assert profiler.records == (profiler is not NO_PROFILER)
    assert bool(profiler.probe_counter) == profiler.counts
    assert profiler.tool in ("", *(program.name for program in profiler.programs)) or profiler.preloads


def test_the_application_alone_comes_last() -> None:
    assert list(PROFILERS.values())[-1] is NO_PROFILER
    assert [each.name for each in PROFILERS.values() if not each.records] == [NO_PROFILER.name]
