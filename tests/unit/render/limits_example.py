"""Documents with tables of units that are written by hand."""

from __future__ import annotations

import msgspec

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.bottleneck import Bottleneck, Bottlenecks
from rocm_perf.model.results.limits import Cause, KernelLimits, Reading, UnitUse
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import kernel, trace

BANK, COPY, IDLE = "void bank<float, 32>(float*)", "copy_rows", "copy_columns"


def share(value: float, formula: str, **inputs: int) -> Quantity:
    return Quantity(value, "", formula, inputs)


CONFLICTS = Cause(
    id="bank-conflicts",
    share=1.0,
    saves=0.75,
    certainty="proven",
    title="97 % of its shared-memory cycles are bank conflicts",
    evidence=("40 of 41 wavefronts repeat an access", "32-way conflicts on reads"),
    remedy="Pad the rows of the tile by one element.",
    source="counters",
    is_not="a lack of LDS bandwidth",
)
BARRIERS = Cause(
    id="barriers",
    share=0.12,
    saves=None,
    certainty="hint",
    title="warps wait at barriers",
    evidence=("12 % of the samples",),
    remedy="Use fewer phases.",
    source="PC samples",
)
LIMITS = KernelLimits(
    units=(
        UnitUse("issue", "issue slots", share(0.5, "issued / cycles"), None, "counters"),
        UnitUse(
            "lds",
            "shared memory",
            share(0.9, "wavefronts / cycles", wavefronts=90, cycles=100),
            share(0.25, "ideal / wavefronts", ideal=22, wavefronts=90),
            "counters",
        ),
        UnitUse("f64", "FP64 pipe", share(0.0, "f64 / cycles"), None, "code"),
        UnitUse("matrix", "tensor cores", unavailable("", "", "it was not recorded"), None, "counters"),
    ),
    readings=(
        Reading(
            "barrier", "waits", "time that warps wait at barriers", share(0.1, "barrier / all"), "counters"
        ),
        Reading("lds", "waits", "time that warps wait for LDS", share(0.6, "lds / all"), "counters"),
        Reading(
            "groups", "parallelism", "blocks per SM", Quantity(4, "blocks", "grid / SMs"), "launch geometry"
        ),
        Reading("bytes", "work", "bytes of memory", Quantity(2048, "B", "sectors * 32"), "counters"),
    ),
    causes=(CONFLICTS, BARRIERS),
)


def judged() -> Document:
    """Three kernels: one with two causes, one with its units alone, one of which nothing is known."""
    recording = trace(dispatches=[kernel(BANK, 0, 600), kernel(COPY, 700, 1000), kernel(IDLE, 1100, 1200)])
    known = {BANK: LIMITS, COPY: KernelLimits(units=LIMITS.units[:1])}
    rows = tuple(
        Bottleneck(
            kernel=name,
            short_name=name.removeprefix("void ").partition("<")[0],
            gpu=None,
            total_ns=total,
            label=None,
            score=None,
            margin=None,
            second=None,
            reason="nothing was measured",
            scores=(),
            evidence=(),
            would_tell_more=("rocm-perf profile --deep -- APP",),
            limits=known.get(name, KernelLimits(missing="no counters were recorded")),
        )
        for name, total in ((BANK, 600), (COPY, 300), (IDLE, 100))
    )
    return document(recording, bottlenecks=Bottlenecks(rows))


def without_limits() -> Document:
    """The same, but for the tables of units."""
    found = judged()
    rows = tuple(
        msgspec.structs.replace(row, limits=KernelLimits(missing="no counters were recorded"))
        for row in found.bottlenecks.kernels
    )
    return msgspec.structs.replace(found, bottlenecks=Bottlenecks(rows))
