"""Where a recording lies: `OUTPUT/RUN_ID/HOST/rankR-PID/`, one folder for each process of rocm-perf, with its record,
written whole or not at all. Ranks of one job share the RUN_ID."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rocm_perf.collect.run.processes import PROC, process
from rocm_perf.errors import OutputError, UsageError
from rocm_perf.files import write_whole
from rocm_perf.model.collection import FILE_NAME, CollectionRecord
from rocm_perf.text import encode_json

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
RUN_ID_VARIABLE = "ROCM_PERF_RUN_ID"
_ODD = re.compile(r"[^\w.+@=,-]+")
_LONGEST = 120


@dataclass(frozen=True)
class Place:
    """Where a process of rocm-perf records."""

    output: Path
    run_id: str
    host: str
    rank: int | None
    pid: int
    chosen: bool = False  # the user named the run

    @property
    def run(self) -> Path:
        return self.output / self.run_id

    @property
    def folders(self) -> Iterator[Path]:
        """Its folder, and others if that one is taken: process ids come again, in containers above all."""
        name = f"{_ranked(self.rank)}{self.pid}"
        yield self.run / self.host / name
        for number in range(2, 1000):
            yield self.run / self.host / f"{name}.{number}"


def place_for(output: str, run_id: str, host: str, environment: Mapping[str, str]) -> Place:
    """The place of this process. Nothing is made yet."""
    if run_id and (_ODD.search(run_id) or run_id.startswith(".") or len(run_id) > _LONGEST):
        raise UsageError(
            f"{run_id[:40]!r} cannot name a run", "it names a folder", "Use letters, digits and . _ - + @ = ,"
        )
    return Place(
        output=Path(output).absolute(),
        run_id=run_id or _launcher_id(environment) or _new_id(),
        host=_as_name(host) or "localhost",
        rank=rank_of(environment),
        pid=os.getpid(),
        chosen=bool(run_id),
    )


def rank_of(environment: Mapping[str, str]) -> int | None:
    """The rank that the launcher gave this process."""
    ranks = (environment.get(name, "") for name in RANKS)
    return next((int(value) for value in ranks if re.fullmatch(r"[0-9]{1,9}", value)), None)


def claim(place: Place, folder: Path, *, replace: bool = False) -> bool:
    """Make the folder of a process; False if somebody has it."""
    with explained(folder):
        if place.chosen:
            _make_room(place, replace)
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
        except FileExistsError:
            return False
    return True


def write_record(folder: Path, record: CollectionRecord) -> None:
    """Replace the record of a folder; the old one stays if that fails."""
    text = encode_json(record)
    write_whole(
        folder / FILE_NAME, lambda draft: draft.write_bytes(text + b"\n"), overwrite=True, durable=True
    )


def read_record(folder: Path) -> CollectionRecord | None:
    """The record of a folder; None where there is none that can be read."""
    try:
        return msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=CollectionRecord)
    except (OSError, msgspec.MsgspecError):
        return None


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the system refuses into one line."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"cannot write to {folder}", why, "Choose another folder with -d.") from error


def _make_room(place: Place, replace: bool) -> None:
    """Remove an old run of the name that the user chose, if that is wanted; what still records belongs to this run."""
    rank = _ranked(place.rank)
    pattern = re.compile(re.escape(rank) + r"\d+(\.\d+)?")
    home = place.run / place.host
    old = [each for each in home.glob(f"{rank}*") if pattern.fullmatch(each.name) and not _is_running(each)]
    if not old:
        return
    if not replace:
        raise UsageError(
            f"the run {place.run_id} exists",
            f"{old[0]} holds a recording",
            "Choose another name, or replace it with --force-overwrite.",
        )
    for folder in old:
        shutil.rmtree(folder)


def _is_running(folder: Path) -> bool:
    """Whether a process still records into a folder; one without a record has just been made."""
    record = read_record(folder)
    return record is None or (record.state == "running" and process(record.pid) is not None)


def _ranked(rank: int | None) -> str:
    return "rank-" if rank is None else f"rank{rank}-"


def _launcher_id(environment: Mapping[str, str]) -> str:
    """What the processes of one job, and no other job, have in common."""
    named = {
        "": environment.get(RUN_ID_VARIABLE, ""),
        "torchrun-": _torchrun_id(environment),
        "slurm-": _slurm_id(environment),
        "mpi-": environment.get("PMIX_NAMESPACE", "") or environment.get("OMPI_MCA_ess_base_jobid", ""),
    }
    return next((_as_name(prefix + value) for prefix, value in named.items() if value), "")


def _slurm_id(environment: Mapping[str, str]) -> str:
    """The id of a Slurm step; empty without one, in a shell of the allocation, where many programs are run."""
    job, step = environment.get("SLURM_JOB_ID"), environment.get("SLURM_STEP_ID")
    return f"{job}.{step}" if job and step else ""


def _torchrun_id(environment: Mapping[str, str]) -> str:
    """The id of a run of torchrun, which is "none" by default; on one node its agent, our parent, stands for it."""
    named = environment.get("TORCHELASTIC_RUN_ID", "")
    if named != "none":
        return named
    if environment.get("WORLD_SIZE") != environment.get("LOCAL_WORLD_SIZE"):
        return ""
    agent = os.getppid()
    try:
        started = (PROC / str(agent) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
    return f"{agent}-{started}"


def _new_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def _as_name(text: str) -> str:
    return _ODD.sub("-", text).strip(".")[:_LONGEST]
