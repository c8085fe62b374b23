"""Which GPUs a program can see, and how it counts them, given the variables that mask devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocm_perf.backends.machine import FoundGpu

# Each mask counts within what the one before leaves over. HIP takes CUDA's name where its own is not set.
_AMD = (("ROCR_VISIBLE_DEVICES",), ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"))
_NVIDIA = (("CUDA_VISIBLE_DEVICES",),)


def ordinals(gpus: Sequence[FoundGpu], environment: Mapping[str, str]) -> dict[int, int]:
    """The number that a program gives to each GPU, by its index; those that it cannot see are absent."""
    seen = sorted(gpus, key=lambda gpu: gpu.index)
    masks = _AMD if any(gpu.vendor == "AMD" for gpu in gpus) else _NVIDIA
    for names in masks:
        mask = next((environment[name] for name in names if name in environment), None)
        if mask is not None:
            seen = _masked(seen, mask)
    return {gpu.index: number for number, gpu in enumerate(seen)}


def _masked(gpus: list[FoundGpu], mask: str) -> list[FoundGpu]:
    """The GPUs that a mask names by numbers or uuids. The runtimes stop at the first entry that names no GPU."""
    kept: list[FoundGpu] = []
    for entry in (part.strip() for part in mask.split(",")):
        gpu = _named(gpus, entry)
        if gpu is None or gpu in kept:
            break
        kept.append(gpu)
    return kept


def _named(gpus: list[FoundGpu], entry: str) -> FoundGpu | None:
    if entry.isdigit():
        return gpus[int(entry)] if int(entry) < len(gpus) else None
    alike = [gpu for gpu in gpus if entry and gpu.uuid.lower().startswith(entry.lower())]
    return alike[0] if len(alike) == 1 else None
