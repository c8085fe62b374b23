"""Recordings that do not say which GPU they were made on, where the user does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import polars as pl
from msgspec.structs import replace

from rocm_perf.arch import catalog
from rocm_perf.arch.chip_of_counters import chips_of_counters
from rocm_perf.arch.chip_of_kernels import chip_of_kernel
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.matching import match
from rocm_perf.errors import UsageError
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.model.vendor import is_amd, is_nvidia
from rocm_perf.units import format_count

# Tensile names the chip that a kernel was compiled for, other libraries write gfx and its number.
_GFX = re.compile(
    r"_ISA(9\d[0-9a-f]|1[0-2]\d\d)(?![0-9a-f])|(?<![a-z0-9])gfx(9\d[0-9a-f]|1[0-2]\d\d)(?![0-9a-f])"
)
_AMD = re.compile(r"^Cijk_|__amd_rocclr_|^miopen|ck_tile")
_SM = re.compile(r"(?:^|_)sm_?(\d{2,3})[a-z]?_")
_NVIDIA = re.compile(r"^nvjet|cutlass|^(?:volta|turing|ampere|hopper)_")


def named_notice(name: str) -> str:
    """Return the notice that a recording bears whose GPU the user named."""
    return f"{name} is the GPU as you named it (--gpu): the recording does not say which it is"


def with_named_gpu(trace: Trace, gpu: Gpu) -> Trace:
    """Return the recording as one of this GPU, wherever it does not say itself which GPU it is.

    Raises UsageError where the recording names another GPU, or its kernels or counters are of another chip.
    """
    if why := _contradiction(trace, gpu):
        raise UsageError(
            f"the recording was not made on {gpu.name}", why, f"Leave out --gpu, or name {_instead(trace)}."
        )
    agents = trace.table("agents")
    rows = agents.to_dicts() if agents.height else list(_agents_of(trace))
    named = [
        row if not _is_open(row) else {**row, "name": gpu.name, "gfx": row.get("gfx") or gpu.gfx}
        for row in rows
    ]
    if named == rows:
        return trace
    frames = {name: trace.table(name) for name in trace if name != "agents"}
    frames["agents"] = schema.conform("agents", pl.DataFrame(named, infer_schema_length=None))
    notices = (*trace.run.notices, named_notice(gpu.name))
    return Trace(frames, replace(trace.run, notices=tuple(dict.fromkeys(notices))))


def _is_open(row: dict[str, object]) -> bool:
    """Whether a row is of a GPU that nothing identifies, or that may be one of several."""
    if (row.get("kind") or "GPU") != "GPU":
        return False
    matched = match(row)
    return matched.gpu is None or bool(matched.ambiguous)


def _agents_of(trace: Trace) -> Iterator[dict[str, object]]:
    """The agents that dispatches ran on, of which no table says anything."""
    ran = trace.lazy("dispatches").select("node", "agent_id").unique(maintain_order=True).collect()
    for node, agent in ran.iter_rows():
        yield {"node": node, "agent_id": agent, "kind": "GPU"}


def _contradiction(trace: Trace, gpu: Gpu) -> str:
    """What of the recording says that it is of another GPU; empty where nothing does."""
    for row in trace.table("agents").iter_rows(named=True):
        if (row["kind"] or "GPU") != "GPU":
            continue
        matched = match(row)
        if matched.gpu is not None and gpu.name not in (matched.gpu.name, *matched.ambiguous):
            return f"it says that it was made on {matched.gpu.name}"
        if row["gfx"] and row["gfx"] != gpu.gfx:
            return f"it says that it was made on {row['gfx']}, and {gpu.name} is {gpu.gfx}"
    kernels = trace.lazy("dispatches").select(pl.col("kernel").unique()).collect().to_series().drop_nulls()
    return _by_names(kernels.cast(pl.String), gpu) or _by_counters(trace, gpu)


def _by_names(kernels: Iterable[str], gpu: Gpu) -> str:
    told: Counter[str] = Counter()
    for name in kernels:
        for chip in _chips(name):
            told[chip] += not _runs(chip, gpu)
    chip, count = max(told.items(), key=lambda pair: pair[1], default=("", 0))
    if not count:
        return ""
    whose = chip if chip.startswith(("gfx", "sm_")) else f"libraries of {chip}"
    say = "say" if count > 1 else "says"
    return f"{format_count(count, 'name')} of its kernels {say} {whose}, and {gpu.name} is {gpu.gfx}"


def _chips(name: str) -> Iterator[str]:
    """The chip that a kernel's name says, or at least whose it is."""
    if chip := chip_of_kernel(name):
        yield chip
    elif found := _GFX.search(name):
        yield f"gfx{found[1]}"
    elif found := _SM.search(name):
        yield f"sm_{found[1]}"
    elif _AMD.search(name):
        yield "AMD"
    elif _NVIDIA.search(name):
        yield "NVIDIA"


def _runs(chip: str, gpu: Gpu) -> bool:
    """Whether a GPU runs what was made for a chip: NVIDIA's newer GPUs run what was made for older ones."""
    if chip.startswith("gfx"):
        return chip == gpu.gfx or (chip not in catalog.known_gfx() and is_amd(gpu.gfx))
    if chip.startswith("sm_"):
        return is_nvidia(gpu.gfx) and int(chip[3:]) <= int(re.sub(r"\D", "", gpu.gfx))
    return is_amd(gpu.gfx) if chip == "AMD" else is_nvidia(gpu.gfx)


def _by_counters(trace: Trace, gpu: Gpu) -> str:
    names = trace.lazy("counters").select(pl.col("counter").unique()).collect().to_series()
    chips = chips_of_counters(names.drop_nulls())
    if not chips or gpu.gfx in chips:
        return ""
    return f"its counters are those of {' or '.join(chips)}, and {gpu.name} is {gpu.gfx}"


def _instead(trace: Trace) -> str:
    """The GPUs that the names of its kernels allow."""
    kernels = trace.lazy("dispatches").select(pl.col("kernel").unique()).collect().to_series().drop_nulls()
    chips = {chip for name in kernels.cast(pl.String) for chip in _chips(name)}
    products = [gpu.name for chip in sorted(chips) for gpu in catalog.gpus_of(chip)]
    return f"one of {', '.join(products)}" if products else "another (rocm-perf gpus lists them)"
