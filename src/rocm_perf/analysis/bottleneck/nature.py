"""Kernels whose kind of work says what limits them, before anything is measured."""

from __future__ import annotations

import re

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.time.kernel_family import MATRIX_VECTOR, RUNTIME, family
from rocm_perf.model.results.bottleneck import Evidence

SOURCE = "kind of kernel"
_STREAMS = {
    "elementwise": "an elementwise kernel reads and writes each value once and computes little",
    "copy": "a copy computes nothing",
    "normalisation": "a normalisation reads and writes each value a few times and computes little",
    "softmax": "a softmax reads and writes each value a few times and computes little",
    "reduction": "a reduction reads each value once and computes little",
    "embedding": "a gather or scatter moves values and computes nothing",
    "optimiser": "an optimiser step reads and writes each weight once and computes little",
    "quantisation": "a conversion reads and writes each value once and computes little",
}
_RUNTIME = (
    "the runtime copies and fills buffers with it: each dispatch is a hipMemcpy or hipMemset of the program"
)
# Atomic additions to one place take turns: how many places there are decides, not bandwidth.
ADDS_BY_INDEX = re.compile(
    r"indexFunc|index_add|scatter_add|ReduceAdd|embedding_backward|histogram", re.IGNORECASE
)
_ONCE = "a product of a matrix and a vector reads each weight once and uses it once: memory is its roof"


def streams(kernel: str) -> Evidence | None:
    """That its kind of work is a matter of memory bandwidth, if it is."""
    kind = family(kernel)
    says = _STREAMS.get(kind.name)
    if kind.library == RUNTIME:
        says = _RUNTIME
    elif MATRIX_VECTOR.search(short_name(kernel)):
        says = _ONCE
    elif ADDS_BY_INDEX.search(kernel):
        says = None
    return Evidence(name="streams", value=1.0, unit="", says=says, source=SOURCE) if says else None
