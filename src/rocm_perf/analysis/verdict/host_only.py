"""What recordings without any GPU work can tell: start-up, that the GPU's part was not recorded, or nothing."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.analysis.basis.intervals import total_union_ns
from rocm_perf.analysis.basis.launched import timed_calls
from rocm_perf.analysis.idle.first_calls import startup_calls
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.analysis.trust.coverage import described
from rocm_perf.analysis.verdict.host_time import host_alone, longest_functions
from rocm_perf.model.calls import COPY_CALL, HOST_CALL, LAUNCH_CALL
from rocm_perf.model.collection import NO_STEPS, CollectionRecord
from rocm_perf.model.finding import Finding
from rocm_perf.model.range_sources import ACCELERATOR
from rocm_perf.model.results.first_calls import OneOffCall
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

_GPU = ("dispatches", "copies", "summaries", "counters", "pc_samples", "instructions", "waves", "metrics")
_MEMORY = ("memory_blocks", "stacks")
_SHOWN = 3
_JAX = "jax"  # what its profiler is called
_TORCH = "torch.profiler"
_JAX_ON_CPU = (
    "JAX computed on the CPU: no GPU is in the recording",
    "If a GPU was meant, python -c 'import jax; print(jax.devices())' says what JAX found: install its plugin for "
    "ROCm or CUDA, and check JAX_PLATFORMS.",
)
_ASK_TORCH = (
    "python -c 'import torch; print(torch.__version__, torch.cuda.is_available())' says what torch was built for, and "
    "whether it finds a GPU."
)
_ELSEWHERE = "Record it on a machine with a GPU (rocm-perf doctor shows what this one has)."
_DRIVER = (
    "Load the GPU's driver, or let this container and user see its device (rocm-perf doctor says what lacks)."
)
_PLATFORMS = {"AMD": "ROCm", "NVIDIA": "CUDA"}
# Of torch's own wheels, the one for each release of ROCm and CUDA; the first where the release is not known.
_WHEELS = {
    "AMD": {"7.2": "rocm7.2", "7.1": "rocm7.1", "7.0": "rocm7.0", "6.4": "rocm6.4", "6.3": "rocm6.3"},
    "NVIDIA": {"12.8": "cu128", "13.0": "cu130", "12.6": "cu126"},
}
_MOST = 0.5  # of the time inside calls
_LARGE = 0.2  # of the wall
_FASTER = (
    3  # times the clock of the slowest GPU, on average: an idle one falls to a tenth of its highest clock
)
# Calls that ask about devices or register code, and set nothing in motion.
_QUERY = (
    r"Get(Device|Version|Error|LastError|Attribute|Propert|Limit|Count)|^hipPeek|DriverGetVersion|^__hip|^hipInit"
    r"|^hsa_\w*(get_\w*info|iterate|get_major|get_extension|status_string)"
)
_MOVES = f"{LAUNCH_CALL}|{COPY_CALL}"
_NO_WORK = re.compile(r"\b(ranges|flows)\b")  # what a loss names that cannot have been work of a GPU
_ABOUT = ("nodes", "processes")
_FOLLOW = "Record the process that launches: launchers, servers and test runners start it as their child."


def host_only(trace: Trace) -> Finding | None:
    """The conclusion of a recording that holds nothing of the GPU; None where it holds something."""
    if any(trace.has(table) for table in (*_GPU, *_MEMORY)):
        return None
    if (other := _on_another_device(trace)) is not None:
        return other
    calls = timed_calls(trace).with_columns(pl.col("name").cast(pl.String))
    name = pl.col("name").str
    if not calls.filter(~name.contains(_QUERY)).height:
        return (
            _waiting_for_others(trace)
            or _on_the_cpu(trace)
            or _unreadable(trace)
            or host_alone(trace)
            or (_queries(calls) if calls.height else _nothing(trace))
        )
    if not calls.filter(name.contains(_MOVES)).height and (found := _waiting_for_others(trace)) is not None:
        return found
    return _start_up(trace, calls) or _no_kernels(trace, calls)


def _waiting_for_others(trace: Trace) -> Finding | None:
    """Return that other processes hold the host's time, whatever it computes with."""
    found = host_alone(trace)
    return found if found is not None and found.kind == "communication" else None


def _unreadable(trace: Trace) -> Finding | None:
    """That the work may lie in the part that could not be read."""
    losses = [loss for loss in trace.run.losses if not _NO_WORK.search(loss.what)]
    if not losses:
        return None
    return Finding(
        id="nothing-readable",
        severity="error",
        kind="cannot-tell",
        title="No work of a GPU is in the part of the recording that could be read",
        evidence=tuple(described(loss) for loss in losses),
        remedy="Nothing can be concluded. If it was copied, copy it again and compare the sizes; else record again, "
        "and let the program exit normally, with enough room on the disk.",
    )


def _nothing(trace: Trace) -> Finding:
    held = [
        format_count(trace.rows(table), table.removesuffix("s"), table)
        for table in trace
        if table not in _ABOUT
    ]
    if not held and (known := _reason_of_record(trace)) is not None:
        return known
    listed = f"it holds {', '.join(held)}, and neither GPU work nor calls of a GPU runtime"
    advice = remedy("record-gpu", setting(trace))
    follow = "" if "Record the process" in advice else f"{_FOLLOW} "
    return Finding(
        id="nothing-recorded",
        severity="error",
        kind="cannot-tell",
        title="No work of a GPU was recorded" if held else "The recording is empty",
        evidence=(listed, *_host(trace), *_clocks(trace))
        if held
        else ("no call, no kernel and no copy is in it",),
        remedy=f"Nothing can be concluded about a GPU. {follow}{advice}",
    )


def _host(trace: Trace) -> list[str]:
    """Return in what the host spent its time, where that was recorded."""
    longest = longest_functions(trace)
    return [f"the host's time: {', '.join(longest)}"] if longest else []


def _clocks(trace: Trace) -> list[str]:
    """Return which GPUs ran at far higher clocks than others: something ran there, recorded or not."""
    of_clocks = (pl.col("metric") == "clock_mhz") & pl.col("agent_id").is_not_null()
    means = (
        trace.lazy("samples")
        .filter(of_clocks)
        .group_by("node", "agent_id")
        .agg(pl.col("value").mean())
        .drop_nulls("value")
        .sort("node", "agent_id")
        .collect()
    )
    lowest = means["value"].min()
    if not isinstance(lowest, float):
        return []
    fast = means.filter(pl.col("value") > _FASTER * lowest)
    if not 0 < fast.height < means.height:
        return []
    names = ", ".join(
        f"GPU {gpu} at {mhz:,.0f} MHz" for gpu, mhz in fast.select("agent_id", "value").iter_rows()
    )
    others = format_count(means.height - fast.height, "other")
    return [f"{names}, {others} from {lowest:,.0f} MHz on: something ran there that was not recorded"]


def _reason_of_record(trace: Trace) -> Finding | None:
    """Return the finding for a schedule that recorded nothing because it saw too few steps."""
    record = trace.run.collection
    reasons = [done.explanation for done in record.passes if NO_STEPS in done.explanation] if record else []
    if not reasons:
        return None
    return Finding(
        id="no-steps",
        severity="error",
        kind="cannot-tell",
        title="Nothing was recorded: the schedule counts steps, and too few were seen",
        evidence=(reasons[0],),
        remedy="Name the function that makes one step: --step FUNCTION (or --step MODULE:FUNCTION) counts its calls. "
        "Without it, a step is one of the first optimizer or, where there is none, a call of the outermost nn.Module. "
        "Without --torch-wait, --torch-warmup and --torch-active all of the program is recorded.",
    )


def _on_the_cpu(trace: Trace) -> Finding | None:
    """Return the finding for a framework that ran on the CPU, with the operators that took longest."""
    is_jax = trace.run.tool.startswith(_JAX)
    if not is_jax and not trace.run.tool.startswith(_TORCH):
        return None
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    counted = (pl.col("category") == "operator") & pl.col("op_id").is_not_null()
    ops = trace.lazy("ops").filter(counted).group_by("name").agg(length.alias("ns"), pl.len().alias("calls"))
    longest = ops.sort("ns", "name", descending=[True, False]).collect()
    if not longest.height:
        return None
    shown = ", ".join(
        f"{name} {format_ns(ns)} in {format_count(calls, 'call')}"
        for name, ns, calls in longest.head(_SHOWN).iter_rows()
    )
    nouns = ("operation", "operations") if is_jax else ("operator call", "operator calls")
    summed = f", {format_ns(int(longest['ns'].sum()))} summed" if is_jax else ""  # torch's lie in one another
    title, remedy = _JAX_ON_CPU if is_jax else _why_on_cpu(trace.run.collection)
    count = format_count(int(longest["calls"].sum()), *nouns)
    return Finding(
        id="ran-on-cpu",
        severity="warning",
        kind="cannot-tell",
        title=title,
        evidence=(f"{count} on threads of the CPU{summed}: {shown}",),
        remedy=f"{remedy} --show operators lists what ran.",
    )


def _why_on_cpu(record: CollectionRecord | None) -> tuple[str, str]:
    """Return why torch ran on the CPU, by the record of the machine, and what to do."""
    machine = record.machine if record else {}
    gpus, version = machine.get("gpus"), machine.get("torch", "")
    platform = machine.get("torch_platform", "")
    is_for_cpu = platform == "CPU"
    named = f"torch {version} is built for {'the CPU alone' if is_for_cpu else platform}"
    if not platform:
        return "torch ran on the CPU: no work of a GPU was recorded", _ASK_TORCH
    if not gpus:
        hidden = machine.get("hidden_gpus")
        lacking = (
            f"no driver shows the GPU of this machine ({hidden})" if hidden else "this machine has no GPU"
        )
        remedy = _DRIVER if hidden else _ELSEWHERE
        if is_for_cpu:
            wheels = f"{_wheel('AMD', '')} (NVIDIA: whl/{_newest('NVIDIA')})"
            return f"torch ran on the CPU: {lacking}, and {named}", f"{remedy} There: {wheels}."
        return f"torch ran on the CPU: {lacking}", remedy
    vendor = machine.get("vendor", "NVIDIA")
    if not platform.startswith(_PLATFORMS[vendor]):
        release = machine.get("rocm" if vendor == "AMD" else "cuda", "")
        return (
            f"torch ran on the CPU: {named}, and this machine has {gpus}",
            f"Install the wheel for {_PLATFORMS[vendor]}: {_wheel(vendor, release)}.",
        )
    return (
        f"torch ran on the CPU: the program did not use {gpus}",
        'Move the model and its inputs to the GPU: .to("cuda"), which is what ROCm\'s torch calls it as well. '
        + _ASK_TORCH,
    )


def _newest(vendor: str) -> str:
    return next(iter(_WHEELS[vendor].values()))


def _wheel(vendor: str, release: str) -> str:
    """The command that installs torch for the GPUs of a vendor: the wheel of the machine's release if there is one."""
    tag = _WHEELS[vendor].get(".".join(release.split(".")[:2]), _newest(vendor))
    return f"pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{tag}"


def _on_another_device(trace: Trace) -> Finding | None:
    """That what a device did is here, but of none that is known."""
    events = trace.lazy("ranges").filter(pl.col("source") == ACCELERATOR)
    often = events.group_by("name").len().sort("len", "name", descending=[True, False]).collect()
    if not often.height:
        return None
    count = format_count(int(often["len"].sum()), "device event")
    return Finding(
        id="unknown-accelerator",
        severity="warning",
        kind="cannot-tell",
        title="The recording holds device events of an accelerator that rocm-perf does not know",
        evidence=(f"{count} such as {', '.join(often['name'].head(_SHOWN))}, and no work of a GPU",),
        remedy="Nothing can be concluded about the device: use the tools of its vendor. What the host did is here "
        "(--show operators,ranges,host).",
    )


def _queries(calls: pl.DataFrame) -> Finding:
    names = ", ".join(calls["name"].unique(maintain_order=True).head(_SHOWN))
    return Finding(
        id="nothing-recorded",
        severity="error",
        kind="cannot-tell",
        title="The recording is practically empty: the GPU was never used in it",
        evidence=(
            f"{format_count(calls.height, 'call')} asking about devices or registering code ({names}), and no work",
        ),
        remedy=f"Nothing can be concluded. The recording ended before the work began, or is of another process. "
        f"{_FOLLOW}",
    )


def _start_up(trace: Trace, calls: pl.DataFrame) -> Finding | None:
    first, wall = startup_calls(trace), wall_ns(trace) or 0
    spent = sum(call.total_ns for call in first)
    if not first or spent < _MOST * total_union_ns(calls) or spent < _LARGE * wall:
        return None
    return Finding(
        id="start-up",
        severity="info",
        kind="startup",
        title=f"Start-up: {first[0].name} and other first calls take {format_share(spent / wall)} of the recording",
        evidence=(
            f"{format_ns(spent)} of {format_ns(wall)}: {', '.join(_described(call) for call in first[:_SHOWN])}",
            "no kernel is in the recording: nothing can be said about the program once it is warm",
        ),
        remedy="These calls cost that much once per process: keep the process alive, and create streams and memory "
        f"once. To judge the program: {_lowered(remedy('record-steps', setting(trace)))}",
    )


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _described(call: OneOffCall) -> str:
    others = f" (usually {format_ns(call.usual_ns)})" if call.usual_ns else ""
    times = "" if call.calls == 1 else f" in {call.calls:,} calls"
    return f"{call.name} {format_ns(call.total_ns)}{times}{others}"


def _no_kernels(trace: Trace, calls: pl.DataFrame) -> Finding:
    name = pl.col("name").str
    launched = calls.filter(name.contains(LAUNCH_CALL) & ~name.contains(HOST_CALL)).height
    copied = calls.filter(name.contains(COPY_CALL)).height
    used = f"{format_count(launched, 'launch', 'launches')} and {format_count(copied, 'copying call')}"
    count = format_count(calls.height, "call")
    title = "What the GPU did is not in the recording: it holds calls of the host only"
    unused = "No work of a GPU was recorded: no call in the recording launches or copies anything"
    return Finding(
        id="gpu-not-recorded",
        severity="error",
        kind="unrecorded-work" if launched or copied else "cannot-tell",
        title=title if launched or copied else unused,
        evidence=(f"{count}, {used} among them, but no kernel and no copy", *_clocks(trace)),
        remedy=remedy("record-gpu", setting(trace)),
    )
