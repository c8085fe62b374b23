"""`__launch_bounds__` and, for AMD, `amdgpu_waves_per_eu`: how many work-items a block has at most, and how many waves
shall fit. The compiler plans registers by it: without bounds it must expect blocks of 1024 work-items."""

from __future__ import annotations

from math import prod

from rocm_perf.optimize.candidate import Edit
from rocm_perf.optimize.source.launches import launches_of, other_mentions
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform

_SIZES = ("__launch_bounds__", "amdgpu_flat_work_group_size", "launch_bounds", "reqd_work_group_size")
_WAVES = ("amdgpu_waves_per_eu",)
_WAVES_TRIED = (4, 8, 2)  # of 8 that a SIMD of gfx90a and gfx942 holds, of 16 on gfx11
# Threads that a multiprocessor holds: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_THREADS = {"sm_75": 1024, "sm_86": 1536, "sm_87": 1536, "sm_89": 1536, "sm_120": 1536}
_MOST_BLOCKS = 16  # of sm_75, sm_86; others hold more


def propose(source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    """The bounds that the launches show, alone and with a number of waves or blocks."""
    if kernel.macros:
        proposals.refuse("__launch_bounds__", f"the macro {kernel.macros[0]} may set them already")
        return
    existing = next((each for each in kernel.attributes if each.name in _SIZES), None)
    if existing is not None:
        proposals.refuse("__launch_bounds__", f"{existing.name} is there already")
    else:
        _propose_bounds(source, kernel, setting, proposals)
    if setting.is_amd:
        _propose_waves(kernel, proposals)


def _propose_bounds(source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    items, reason = _largest_block(source, kernel, setting)
    if items is None:
        proposals.refuse("__launch_bounds__", reason)
        return
    tried = [f"{items}"]
    if not setting.is_amd:
        tried += [f"{items}, {blocks}" for blocks in _blocks_tried(items, setting.arch)]
    for arguments in tried:
        text = f"__launch_bounds__({arguments}) "
        proposals.propose(text.strip(), Edit(kernel.attributes_at, kernel.attributes_at, text.encode()))


def _largest_block(source: Source, kernel: Kernel, setting: Setting) -> tuple[int | None, str]:
    """Work-items of the largest block with which the kernel is launched, or why that is not known."""
    launches = launches_of(source, kernel)
    if lines := other_mentions(source, kernel):
        return None, f"line {lines[0]} uses the kernel in another way than a launch: its blocks are not known"
    sizes = [setting.block_items] if setting.block_items else []
    for launch in launches:
        known = [each for each in launch.block_size if each is not None]
        if not known or len(known) < len(launch.block_size):
            return (
                None,
                f"the block of the launch in line {launch.line} is not a constant: others may be larger",
            )
        sizes.append(prod(known))
    return (
        (max(sizes), "") if sizes else (None, "it is not launched in this file, and no dispatch was captured")
    )


def _blocks_tried(items: int, arch: str) -> list[int]:
    """Blocks that shall fit on a multiprocessor: half of its threads, and all."""
    threads = _THREADS.get(arch.rstrip("af"), 2048)
    counts = [min(_MOST_BLOCKS, threads * share // (4 * items)) for share in (2, 4)]
    return sorted({each for each in counts if each > 1})


def _propose_waves(kernel: Kernel, proposals: Proposals) -> None:
    existing = next((each for each in kernel.attributes if each.name in _WAVES), None)
    bounds = kernel.attribute("__launch_bounds__")
    if existing is not None or (bounds is not None and len(bounds.arguments) > 1):
        proposals.refuse("amdgpu_waves_per_eu", "the number of waves is set already")
        return
    for waves in _WAVES_TRIED:
        text = f"__attribute__((amdgpu_waves_per_eu({waves}))) "
        proposals.propose(
            f"amdgpu_waves_per_eu({waves})", Edit(kernel.attributes_at, kernel.attributes_at, text.encode())
        )


TRANSFORM = Transform(
    name="launch bounds",
    ranks={"occupancy": 1, "latency": 4, "memory": 4, "compute": 3, "unknown": 3, "lds": 4},
    propose=propose,
)
