"""All sections by the name that `analyze --show` takes, in the order of a report."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.errors import UsageError
from rocm_perf.render.sections.communication import communication_section
from rocm_perf.render.sections.idle import gaps_section, sync_section
from rocm_perf.render.sections.instructions import instructions_section, pc_samples_section
from rocm_perf.render.sections.kernels import families_section, gpus_section, kernels_section, steps_section
from rocm_perf.render.sections.launching import copies_section, host_section, launches_section
from rocm_perf.render.sections.metrics import metrics_section
from rocm_perf.render.sections.operators import operators_section
from rocm_perf.render.sections.path import path_section, projections_section
from rocm_perf.render.sections.program import energy_section, memory_section, ranges_section
from rocm_perf.render.sections.recording import recording_section
from rocm_perf.render.sections.roofline import bottlenecks_section, roofline_section
from rocm_perf.render.sections.section import Describe
from rocm_perf.render.sections.verdicts import (
    coverage_section,
    findings_section,
    sanity_section,
    scorecard_section,
    tables_section,
)

SECTIONS: dict[str, Describe] = {
    "findings": findings_section,
    "projections": projections_section,
    "scorecard": scorecard_section,
    "gpus": gpus_section,
    "gaps": gaps_section,
    "sync": sync_section,
    "launches": launches_section,
    "host": host_section,
    "kernels": kernels_section,
    "families": families_section,
    "steps": steps_section,
    "copies": copies_section,
    "communication": communication_section,
    "operators": operators_section,
    "path": path_section,
    "roofline": roofline_section,
    "bottlenecks": bottlenecks_section,
    "metrics": metrics_section,
    "instructions": instructions_section,
    "pc-samples": pc_samples_section,
    "ranges": ranges_section,
    "memory": memory_section,
    "energy": energy_section,
    "sanity": sanity_section,
    "coverage": coverage_section,
    "tables": tables_section,
    "recording": recording_section,
}
ALL = "all"


def chosen(names: Sequence[str]) -> list[str]:
    """Those names of sections, or every name for "all"."""
    unknown = [name for name in names if name not in SECTIONS and name != ALL]
    if unknown or not names:
        raise UsageError(
            f"there is no section {unknown[0]!r}" if unknown else "no section was named",
            next_step=f"Sections: {', '.join(SECTIONS)}, {ALL}.",
        )
    return list(SECTIONS) if ALL in names else list(dict.fromkeys(names))
