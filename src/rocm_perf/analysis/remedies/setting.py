"""The setting of a recording: whose GPU, which program, which recorder, and what was recorded. Advice must fit it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from importlib import resources
from typing import Literal

import msgspec
import polars as pl

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.launched import launched_kernels, timed_calls
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.arch.toml import read_toml
from rocm_perf.model.calls import GRAPH_CALL
from rocm_perf.model.document import Document
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace
from rocm_perf.model.vendor import is_amd, is_nvidia
from rocm_perf.once import once

Vendor = Literal["amd", "nvidia"]
Recorded = Literal[
    "kernels",
    "copies",
    "host calls",
    "operators",
    "python stacks",
    "shapes",
    "ranges",
    "counters",
    "graphs used",  # most kernels are launched by graphs already
]
# What each table holds of the program; of `ops`, what its rows say.
_TABLES: dict[str, Recorded] = {
    "dispatches": "kernels",
    "summaries": "kernels",
    "copies": "copies",
    "api_calls": "host calls",
    "ops": "operators",
    "ranges": "ranges",
    "counters": "counters",
}
_AMD_CALL = r"^(hip[A-Z]|hsa_)"
_NVIDIA_CALL = r"^cu(da)?[A-Z]"
_AMD_KERNEL = r"^Cijk_|rocclr|ck_tile|rocprim|\.kd$|^hip_parallel_launch"
_NVIDIA_KERNEL = (
    r"cutlass|cub::|nvjet|cudnn|(volta|turing|ampere|hopper)_|sm(7|8|9|10|12)\d_|^cuda_parallel_launch"
)
_AMD_NAME = r"AMD|Radeon|Instinct"
_NVIDIA_NAME = r"NVIDIA|Tesla|GeForce|Quadro"
_MOSTLY = 0.5
_SOME = 0.05  # of the launches: fewer kernels of a framework may be those of a library that it shares
# What NVIDIA calls the same thing.
_NVIDIA_WORDS = {
    "HIP graph": "CUDA graph",
    "roctx": "NVTX",
    "hipMallocAsync": "cudaMallocAsync",
    "RCCL": "NCCL",
    "LDS": "shared memory",
}
# Whole words, or their plurals: `gemm_LDSM_N` and `roctx_test` are names.
_VENDOR_WORD = re.compile(rf"(?<![\w:])(?:{'|'.join(_NVIDIA_WORDS)})(?=s?(?!\w|::))")


class Setting(msgspec.Struct, frozen=True):
    """Facts about a recording and its program that decide which advice applies."""

    vendor: Vendor = "amd"
    frameworks: tuple[str, ...] = ()  # the most specific first
    recorders: tuple[str, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    gpus: tuple[str, ...] = ()  # chips and names: gfx942, NVIDIA H200

    @property
    def nvidia(self) -> bool:
        """Return whether the GPU is one of NVIDIA's."""
        return self.vendor == "nvidia"

    @property
    def torch(self) -> bool:
        """Return whether the program uses PyTorch."""
        return "torch" in self.frameworks

    @property
    def jax(self) -> bool:
        """Return whether the program uses JAX."""
        return "jax" in self.frameworks

    @property
    def host_recorded(self) -> bool:
        """Return whether calls of the host were recorded."""
        return "host calls" in self.recorded

    @property
    def uses_graphs(self) -> bool:
        """Return whether most kernels are launched by graphs already."""
        return "graphs used" in self.recorded

    @property
    def graph(self) -> str:
        """Return what the vendor calls a graph of launches."""
        return "CUDA graph" if self.nvidia else "HIP graph"

    def with_graphs(self, used: bool) -> Setting:
        """Return the setting for work that graphs launch, or do not."""
        others: tuple[Recorded, ...] = tuple(fact for fact in self.recorded if fact != "graphs used")
        recorded: tuple[Recorded, ...] = (*others, "graphs used") if used else others
        return msgspec.structs.replace(self, recorded=recorded)

    def worded(self, text: str, names: frozenset[str] = frozenset()) -> str:
        """Return the text in the words of the GPU's vendor; the names, which are the recording's, stay as they are."""
        if not self.nvidia:
            return text
        kept = sorted(filter(_VENDOR_WORD.search, names), key=len, reverse=True)
        pattern = "|".join((*map(re.escape, kept), _VENDOR_WORD.pattern))
        return re.sub(pattern, lambda match: _NVIDIA_WORDS.get(match[0], match[0]), text)


class Recorder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a recorder is recognised, and what it alone records."""

    name: str
    tool: str = ""
    format: str = ""
    vendor: Vendor | None = None
    framework: str = ""


class Framework(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a framework is recognised by names, and which others it uses."""

    name: str
    on: str = ""
    replaces: tuple[str, ...] = ()
    kernels: str = ""
    operators: str = ""
    ranges: str = ""
    calls: str = ""
    command: str = ""
    steps: str = ""  # what annotated steps say they were told by


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of settings.toml."""

    recorder: tuple[Recorder, ...]
    framework: tuple[Framework, ...]


class _Names(msgspec.Struct, frozen=True):
    """The distinct names of a recording, by which programs are recognised."""

    kernels: pl.DataFrame  # name and calls
    operators: pl.Series
    ranges: pl.Series
    calls: pl.Series
    command: pl.Series
    steps: pl.Series


@once
def known() -> Known:
    """Return the recorders and frameworks that can be told apart."""
    file = resources.files("rocm_perf.analysis.remedies") / "settings.toml"
    return msgspec.convert(read_toml(file.read_bytes(), "settings.toml"), Known)


@once_per_trace
def setting(trace: Trace) -> Setting:
    """Return the setting of a recording, from the names of its calls, kernels, operators and ranges."""
    kernels = launched_kernels(trace).select("name", "launch_name")
    launches = kernels["launch_name"]
    graphs = int(named(launches, pl.col("name").str.contains(GRAPH_CALL)).sum())
    agents = trace.table("agents").filter(pl.col("kind") == "GPU")
    ops = trace.table("ops")
    names = _Names(
        kernels=_counted(trace, kernels["name"]),
        operators=_distinct(ops["name"]),
        ranges=_distinct(trace.table("ranges")["name"]),
        calls=_distinct(timed_calls(trace)["name"]),
        command=_texts([trace.run.command]),
        steps=_distinct(annotated_steps(trace)["told_by"]),
    )
    extra: dict[Recorded, bool] = {
        "python stacks": bool((ops["category"] == "python").any()),
        "shapes": ops["shapes"].null_count() < ops.height,
        "graphs used": bool(kernels.height) and graphs >= _MOSTLY * kernels.height,
    }
    gpus = [*agents["gfx"].drop_nulls(), *agents["name"].drop_nulls()]
    rows = {name: trace.rows(name) for name in _TABLES}
    return _setting(trace.run, names, gpus=gpus, rows=rows, extra=extra)


def setting_of(document: Document) -> Setting:
    """Return the setting of the recording that a document is about, as far as the document tells it."""
    calls = [row.name for row in document.launches.functions]
    operators = [row.name for kind in document.operators.categories for row in kind.operators]
    shapes = any(
        shape.shapes
        for kind in document.operators.categories
        for row in kind.operators
        for shape in row.shapes
    )
    graphs = document.launches.graphs.dispatches if document.launches.graphs else 0
    dispatches = sum(device.dispatches for device in document.devices)
    names = _Names(
        kernels=_calls({row.kernel: row.calls for row in document.hotspots.rows}),
        operators=_texts([*operators, *(place.name for place in document.operators.call_sites)]),
        ranges=_texts(name for row in document.ranges.rows for name in row.path),
        calls=_texts(calls),
        command=_texts([document.run.command]),
        steps=_texts([document.serving.told_by]),
    )
    extra: dict[Recorded, bool] = {
        "python stacks": bool(document.operators.call_sites),
        "shapes": shapes,
        "graphs used": bool(dispatches) and graphs >= _MOSTLY * dispatches,
    }
    gpus = [text for agent in document.agents for text in (agent.gfx, agent.name) if text]
    return _setting(document.run, names, gpus=gpus, rows=document.tables, extra=extra)


def _setting(
    run: RunInfo,
    names: _Names,
    *,
    gpus: Iterable[str],
    rows: Mapping[str, int],
    extra: Mapping[Recorded, bool],
) -> Setting:
    """Return the setting that these names and numbers of rows show."""
    chips = tuple(dict.fromkeys(gpus))
    recorders = _recorders(run)
    recorded = [fact for table, fact in _TABLES.items() if rows.get(table)]
    recorded += [fact for fact, is_so in extra.items() if is_so]
    return Setting(
        vendor=_vendor(chips, names, recorders),
        frameworks=_frameworks(names, recorders),
        recorders=tuple(one.name for one in recorders),
        recorded=tuple(dict.fromkeys(recorded)),
        gpus=chips,
    )


def _counted(trace: Trace, kernels: pl.Series) -> pl.DataFrame:
    """Return the kernels with their launches; of a recording of sums, with the calls that these count."""
    if kernels.len():
        return (
            pl.DataFrame({"name": kernels})
            .group_by(pl.col("name").cast(pl.String))
            .agg(calls=pl.len().cast(pl.Int64))
        )
    sums: pl.DataFrame = trace.table("summaries").filter(pl.col("domain") == "kernel")
    return sums.select("name", pl.col("calls").fill_null(1).cast(pl.Int64))


def _calls(kernels: Mapping[str, int]) -> pl.DataFrame:
    schema = {"name": pl.String, "calls": pl.Int64}
    return pl.DataFrame({"name": list(kernels), "calls": list(kernels.values())}, schema=schema)


def _distinct(names: pl.Series) -> pl.Series:
    distinct: pl.Series = names.unique().drop_nulls().cast(pl.String)
    return distinct


def _texts(names: Iterable[str | None]) -> pl.Series:
    return pl.Series([name for name in names if name], dtype=pl.String).unique()


def _recorders(run: RunInfo) -> list[Recorder]:
    """Return who recorded the run; of names that begin alike, the longest counts."""
    found = []
    for tool in run.tool.split(" + "):
        fitting = [one for one in known().recorder if one.tool and tool.startswith(one.tool)]
        found += sorted(fitting, key=lambda one: -len(one.tool))[:1]
    found += [one for one in known().recorder if one.format and one.format in run.formats]
    return found


def _vendor(chips: Collection[str], names: _Names, recorders: Collection[Recorder]) -> Vendor:
    """Return who made the GPU: by its name, the calls of the runtime, the recorder or the kernels; AMD if unknown."""
    told = pl.Series(chips, dtype=pl.String)
    if told.str.contains(_AMD_NAME).any() or any(map(is_amd, chips)):
        return "amd"
    if told.str.contains(_NVIDIA_NAME).any() or any(map(is_nvidia, chips)):
        return "nvidia"
    if names.calls.str.contains(_NVIDIA_CALL).any():
        return "nvidia"
    if names.calls.str.contains(_AMD_CALL).any():
        return "amd"
    for recorder in recorders:
        if recorder.vendor:
            return recorder.vendor
    kernels = names.kernels["name"].str
    return (
        "nvidia"
        if kernels.contains(_NVIDIA_KERNEL).any() and not kernels.contains(_AMD_KERNEL).any()
        else "amd"
    )


def _frameworks(names: _Names, recorders: Collection[Recorder]) -> tuple[str, ...]:
    """Return the frameworks that the program uses, in the order of settings.toml."""
    found = {one.name: one for one in known().framework if _is_used(one, names)}
    by_recorder = {one.framework for one in recorders}
    found |= {one.name: one for one in known().framework if one.name in by_recorder}
    found |= {one.name: one for one in known().framework if one.name in {user.on for user in found.values()}}
    replaced = {name for one in found.values() for name in one.replaces}
    return tuple(one.name for one in known().framework if one.name in found and one.name not in replaced)


def _is_used(framework: Framework, names: _Names) -> bool:
    """Return whether names of the framework occur; of kernels, so many that they are no exception."""
    patterns = (
        (names.operators, framework.operators),
        (names.ranges, framework.ranges),
        (names.calls, framework.calls),
        (names.command, framework.command),
        (names.steps, framework.steps),
    )
    if any(bool(texts.str.contains(pattern).any()) for texts, pattern in patterns if pattern):
        return True
    calls = names.kernels["calls"]
    if not framework.kernels or not calls.sum():
        return False
    own = names.kernels["name"].str.contains(framework.kernels)
    return int(calls.filter(own).sum()) >= _SOME * int(calls.sum())
