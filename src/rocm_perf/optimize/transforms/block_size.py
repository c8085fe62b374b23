"""Other sizes of a block, where the launch is in the same file and its block comes from one number. It changes the
text of the launch, so its own guards prove that nothing else depends on the number."""

from __future__ import annotations

from rocm_perf.model.results.optimize import Geometry
from rocm_perf.optimize.candidate import Candidate
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.transforms.block_assumptions import reason_against_any, reason_against_size
from rocm_perf.optimize.transforms.block_origin import BlockOrigin, block_origin
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform

_SIZES = (64, 128, 256, 512, 1024)
_MOST_TRIED = 3


def propose(source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    """The sizes next to the present one that the kernel allows."""
    origin = block_origin(source, kernel)
    reason = origin if isinstance(origin, str) else reason_against_any(source, kernel, setting, origin)
    if isinstance(origin, str) or reason is not None:
        proposals.refuse("block size", reason or "")
        return
    tried = 0
    for size in sorted(_SIZES, key=lambda each: abs(each.bit_length() - origin.size.bit_length())):
        if size == origin.size or size % setting.wave or tried == _MOST_TRIED:
            continue
        against = reason_against_size(source, kernel, origin, size)
        if against is not None:
            proposals.refuse(f"block of {size}", against)
        else:
            proposals.candidates.append(_candidate(origin, size, proposals.by))
            tried += 1


def _candidate(origin: BlockOrigin, size: int, by: str) -> Candidate:
    return Candidate(
        name=f"block of {size} instead of {origin.size}",
        by=by,
        edits=origin.edits(size),
        geometry=Geometry(block=(size, 1, 1), keeps_items=origin.keeps_items),
        allows=frozenset({"text"}),
    )


TRANSFORM = Transform(
    name="block size",
    ranks={"occupancy": 2, "latency": 6, "memory": 6, "lds": 2, "compute": 6, "unknown": 6},
    propose=propose,
)
