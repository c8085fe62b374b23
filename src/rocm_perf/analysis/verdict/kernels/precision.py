"""Products in single precision that leave the matrix units of the GPU idle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocm_perf.analysis.bottleneck.element_types import is_plain_f32_product
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.verdict.kernels.subjects import Subject
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.vendor import is_nvidia
from rocm_perf.units import format_count, format_ns, format_share

ID = "single-precision-products"
_SHARE = 0.3  # of the kernel time
_NAMED = 3
# Libraries name their kernels after the first GPU that runs them; from Volta on, all have tensor cores.
_WITH_TENSOR_CORES = re.compile(r"volta|turing|ampere|ada_|hopper|blackwell|sm(7|8|9|10|12)\d", re.IGNORECASE)
_TENSOR_CORES_SINCE = 70  # sm_70


def is_plain(subject: Subject) -> bool:
    """Whether all kernels of the name are such products, and memory does not set their pace: matrix units read no
    faster."""
    return subject.label != "memory bandwidth" and all(map(is_plain_f32_product, subject.kernels))


def precision_findings(listed: Sequence[Subject], document: Document) -> Iterator[Finding]:
    """One finding about all of them, where they hold much of the time and the GPU has matrix units."""
    plain = [subject for subject in listed if is_plain(subject)]
    share = sum(subject.share for subject in plain)
    if share < _SHARE or not _has_matrix_units(plain, document):
        return
    spent = sum(subject.total_ns for subject in plain)
    faster = _speedup(document)
    saved = round(sum(subject.saved_ns(1.0) for subject in plain) * (1 - 1 / faster if faster else 1))
    if not saved:
        return
    yield Finding(
        id=ID,
        severity="info",
        title=f"{format_share(share)} of the kernel time are products in single precision without matrix units",
        evidence=(
            f"{format_ns(spent)} in {format_count(sum(subject.calls for subject in plain), 'kernel')} whose names say "
            "single precision and no matrix instruction: "
            + ", ".join(f"{subject.name} ({format_share(subject.share)})" for subject in plain[:_NAMED]),
            _bound(faster, saved),
        ),
        time_at_stake_ns=saved,
        remedy=remedy("single-precision", setting_of(document)),
        kind="kernel-compute",
    )


def _bound(faster: float | None, saved_ns: int) -> str:
    if faster is None:
        return f"at most {format_ns(saved_ns)}, all of it: the peaks of this GPU are not known"
    return f"at most {format_ns(saved_ns)}: by the data sheet the matrix units compute f16 {faster:.0f} times as fast"


def _has_matrix_units(plain: Sequence[Subject], document: Document) -> bool:
    if _speedup(document) is not None:
        return True
    chips = [agent.gfx or "" for agent in document.agents]
    numbers = [int(chip[3:]) for chip in chips if is_nvidia(chip) and chip[3:].isdigit()]
    if numbers:
        return min(numbers) >= _TENSOR_CORES_SINCE
    return any(_WITH_TENSOR_CORES.search(kernel) for subject in plain for kernel in subject.kernels)


def _speedup(document: Document) -> float | None:
    """How much faster the matrix units compute f16 than the vector units f32, by the catalogue."""
    for gpu in document.roofline.gpus:
        rates = {ceiling.name: ceiling.rate.value for ceiling in gpu.ceilings}
        matrix, vector = rates.get("f16 matrix"), rates.get("f32 vector")
        if matrix and vector:
            return matrix / vector
    return None
