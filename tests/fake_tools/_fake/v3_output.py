"""Where rocprofv3 writes: folder and prefix with their placeholders, and the files of each format."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from . import settings
from .recording import Process

if TYPE_CHECKING:
    from rocm_perf.render.formats.rocprofv3_columns import Layout

_RANKS = ("OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK")
_SIZES = ("OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE")
_ENVIRONMENT = re.compile(r"%env\{(\w+)\}%|\$(?:env|ENV)\{(\w+)\}|%q\{(\w+)\}%?")
_LAYOUTS: tuple[tuple[settings.Version, Layout], ...] = (
    ((7, 0), "7.0"),
    ((6, 4), "6.4"),
    ((6, 3), "6.3"),
    ((6, 2), "6.2"),
)


def expand(pattern: str, pid: int, command: list[str]) -> str:
    """%pid%, %hostname%, %rank%, %env{X}% and the others; under torchrun %rank% is not the rank, so it stays 0."""
    named = {
        "hostname": settings.hostname(),
        "pid": str(pid),
        "ppid": str(os.getpid()),
        "pgid": str(os.getpgrp()),
        "psid": str(os.getsid(0)),
        "cwd": os.getcwd(),
        "rank": _first(_RANKS, "0"),
        "size": _first(_SIZES, "1"),
        "job": os.environ.get("SLURM_JOB_ID", "0"),
        "nid": _first(_RANKS, str(pid)),
        "tag": Path(command[0]).name if command else "",
        "argv": "_".join(command).replace("/", "_"),
        "argt": "_".join([Path(command[0]).name, *command[1:]]).replace("/", "_") if command else "",
        "args": "_".join(command[1:]).replace("/", "_"),
        "launch_time": time.strftime("%Y-%m-%d_%H.%M"),
    }
    text = _ENVIRONMENT.sub(lambda found: os.environ.get(next(filter(None, found.groups())), ""), pattern)
    text = re.sub(r"%(\w+)%", lambda found: named.get(found.group(1), found.group()), text)
    short = {"h": "hostname", "p": "pid", "j": "job", "r": "rank", "s": "size"}
    return re.sub(r"%([hpjrs])(?![a-z{])", lambda found: named[short[found.group(1)]], text)


def _first(variables: tuple[str, ...], otherwise: str) -> str:
    return next((os.environ[name] for name in variables if name in os.environ), otherwise)


def layout() -> Layout:
    return next(name for since, name in _LAYOUTS if settings.rocm() >= since)


def write(process: Process, place: Path, formats: list[str], stats: bool) -> list[Path]:
    """Every format that was asked for, under the folder and prefix `place`; the files made."""
    files: list[Path] = []
    if "csv" in formats:
        files += _write_csv(process, place, stats)
    for name, suffix in (("rocpd", "db"), ("json", "json"), ("pftrace", "pftrace")):
        if name in formats:
            file = place.with_name(f"{place.name}_results.{suffix}")
            _write_one(process, name, file)
            files.append(file)
    return files


def _write_one(process: Process, name: str, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if name == "rocpd":
        from rocm_perf.render.formats import rocpd

        rocpd.write(process.trace, file, overwrite=True)
    elif name == "json":
        from rocm_perf.render.formats import rocprofv3_json

        rocprofv3_json.write(process.trace, file, overwrite=True)
    else:
        from rocm_perf.render.formats import perfetto

        perfetto.write(process.trace, file, overwrite=True)


def _write_csv(process: Process, place: Path, stats: bool) -> list[Path]:
    from rocm_perf.render.formats import rocprofv3

    files = rocprofv3.write_csv(
        process.trace, place.parent, place.name, layout=layout(), stats=stats, overwrite=True
    )
    if (
        "kernel" not in process.wanted.domains
    ):  # counters and samples know their kernels, but do not list them
        unasked = [file for file in files if file.name.endswith(("_kernel_trace.csv", "_kernel_stats.csv"))]
        for file in unasked:
            file.unlink()
        files = [file for file in files if file not in unasked]
    return files + _write_samples(process, place)


def _write_samples(process: Process, place: Path) -> list[Path]:
    """pc_sampling_<method>.csv, which is not among the writers of the package."""
    samples = process.trace.table("pc_samples")
    if not samples.height:
        return []
    header = "Sample_Timestamp Exec_Mask Dispatch_Id Instruction Instruction_Comment Correlation_Id"
    stochastic = process.wanted.sampling == "stochastic"
    if stochastic:
        header += " Wave_Issued_Instruction Instruction_Type Stall_Reason Wave_Count"
    lines = [",".join(f'"{column}"' for column in header.split())]
    for row in samples.iter_rows(named=True):
        line = f"{row['time_ns']},{row['exec_mask']},{row['dispatch_id']}"
        line += f',"{row["instruction"]}","",{row["correlation_id"]}'
        if stochastic:
            reason = f"ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_{row['stall_reason']}".upper()
            kind = f"ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_{row['instruction_type']}"
            line += f',{int(row["issued"])},"{kind}","{reason}",{row["wave_count"]}'
        lines.append(line)
    file = place.with_name(f"{place.name}_pc_sampling_{process.wanted.sampling}.csv")
    file.write_text("\n".join(lines) + "\n")
    return [file]
