"""The contents of the four files of an analysis. Their JSON Schemas (schemas/*.json) are made from these types."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec.structs import fields

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Bottleneck
from rocm_perf.model.results.contents import Agent
from rocm_perf.model.results.path import EdgeCount, Estimate, Link, Pattern
from rocm_perf.model.results.roofline import KernelRoofline, RooflineGpu
from rocm_perf.model.results.times import CopyTotal, DeviceTime, DomainTotal
from rocm_perf.model.run import RunInfo

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class File(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that every file begins with."""

    schema_version: int
    producer: str
    label: str


class ProfileFile(File, frozen=True, kw_only=True):
    """profile.json: the machine, the command, what was recorded, and totals."""

    run: RunInfo
    agents: tuple[Agent, ...]
    tables: dict[str, int]
    overhead: Quantity
    wall_ns: int | None
    devices: tuple[DeviceTime, ...]
    queues: tuple[DeviceTime, ...]
    domains: tuple[DomainTotal, ...]
    copies: tuple[CopyTotal, ...]
    formulas: dict[str, str]


class RooflineFile(File, frozen=True, kw_only=True):
    """roofline.json: peaks of each GPU, and per kernel its work by dtype and level, intensity, rates and regime."""

    gpus: tuple[RooflineGpu, ...]
    kernels: tuple[KernelRoofline, ...]
    unavailable: str | None


class DagKernel(msgspec.Struct, frozen=True):
    """One kernel in the dependency graph. `impact`: share of the wall that 10 % off every dispatch would save."""

    kernel: str
    dispatches: Count
    path_ns: Count
    critical_path_score: Share
    slack_ns: Count  # the least of its dispatches
    slack_median_ns: Count
    impact: Share | None
    impact_ns: Count
    impact_basis: str


class DagFile(File, frozen=True, kw_only=True):
    """dag.json: the critical path, each kernel's slack and impact, edges by kind."""

    critical_path_ns: Count
    wall_ns: Count
    links: Count
    by_kind: dict[str, int]
    kernels: tuple[DagKernel, ...]
    nodes: dict[str, int]
    edges: tuple[EdgeCount, ...]
    longest: tuple[Link, ...]
    pattern: Pattern | None
    estimates: tuple[Estimate, ...]
    missing: tuple[str, ...]


class KernelAnalysis(msgspec.Struct, frozen=True):
    """One kernel. A field that is null has its reason in `unknown`; `provenance` says how a number was made."""

    kernel: str
    short_name: str
    time_ms: float
    calls: Count
    operational_intensity: float | int | None
    roofline_position: str | None
    percent_of_roof: float | int | None
    critical_path_score: Share | None
    bottleneck: str | None
    total_ns: Count
    mean_ns: float
    median_ns: float | None
    min_ns: int | None
    max_ns: int | None
    share: Share
    unknown: dict[str, str]
    provenance: dict[str, str]


class AnalysisHead(File, frozen=True, kw_only=True):
    """The parts of analysis.json with a form of their own; every other result of the Document follows unchanged."""

    kernels: tuple[KernelAnalysis, ...]
    kernels_basis: str
    kernels_unavailable: str | None
    bottlenecks: tuple[Bottleneck, ...]
    bottlenecks_unavailable: str | None
    formulas: dict[str, str]


_IN_OTHER_FORM = {"hotspots", "bottlenecks", "roofline", "path"}
_SAID = {field for kind in (ProfileFile, AnalysisHead) for field in kind.__struct_fields__} | _IN_OTHER_FORM
RESULTS = tuple(field for field in fields(Document) if field.name not in _SAID)
AnalysisFile: type[File] = msgspec.defstruct(  # type: ignore[assignment]
    "AnalysisFile",
    [(field.name, field.type) for field in RESULTS],
    bases=(AnalysisHead,),
    namespace={
        "__doc__": "analysis.json: kernels, findings, coverage and scorecard, and every other result."
    },
    frozen=True,
    kw_only=True,
)

FILES: dict[str, type[File]] = {
    "profile": ProfileFile,
    "roofline": RooflineFile,
    "dag": DagFile,
    "analysis": AnalysisFile,
}
