"""Where a recording lies: `OUTPUT/RUN_ID/HOST/rankR-PID/`, one folder for each process of rocm-perf, with its record,
written whole or not at all. Ranks of one job share the RUN_ID."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rocm_perf.collect.run.processes import PROC, process
from rocm_perf.environment import RANKS
from rocm_perf.errors import OutputError, UsageError
from rocm_perf.files import write_whole
from rocm_perf.model.collection import FILE_NAME, CollectionRecord
from rocm_perf.text import encode_json

_SIZES = (
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "PALS_NRANKS",
    "FLUX_JOB_SIZE",
    "SLURM_STEP_NUM_TASKS",
)
RUN_ID_VARIABLE = "ROCM_PERF_RUN_ID"
PASSES = (
    ".passes"  # in the folder of a run, for its launcher: `of-3` is how many launches it takes, `more-1` asks
)
# for another one after the first
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
    ranks: int = 1  # how many run together

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


@dataclass(frozen=True)
class RunFolder:
    """The folder of one process, held open, so that our files get into it whatever becomes of its path meanwhile."""

    path: Path  # as tools and users are told
    descriptor: int

    @property
    def below(self) -> Path:
        """The folder itself, by its descriptor; for this process alone."""
        return Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def current(self) -> Path:
        """Where the folder is now: at its path, unless something else has taken its place."""
        with suppress(OSError):
            if os.path.samestat(self.path.stat(), os.fstat(self.descriptor)):
                return self.path
        return self.below.readlink()

    @property
    def notice(self) -> str:
        """That the folder is not at its path any more; empty if it is."""
        if (current := self.current) == self.path:
            return ""
        return f"{self.path} was replaced while the program ran; this record is in {current}"

    def make(self, name: str) -> Path:
        """Make a folder in it, and return that. A link in its place is refused: it leads elsewhere."""
        folder = self.below
        with explained(self.path / name):
            for part in Path(name).parts:
                folder /= part
                with suppress(FileExistsError):
                    folder.mkdir()
                if folder.is_symlink():
                    raise OutputError(f"cannot write to {self.path / name}", "a link has taken its place")
        return folder

    def write_record(self, record: CollectionRecord) -> None:
        """Replace its record; the old one stays if that fails. A link in its place is not followed."""
        try:
            if (self.below / FILE_NAME).is_symlink():
                (self.below / FILE_NAME).unlink()
            write_record(self.below, record)
        except OutputError as error:
            raise OutputError(f"cannot write {self.path / FILE_NAME}", error.why, error.next_step) from error


@contextmanager
def held_open(folder: Path) -> Iterator[RunFolder]:
    """Open a folder, made if need be, for as long as a process records."""
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield RunFolder(folder, descriptor)
    finally:
        os.close(descriptor)


def place_for(output: str, run_id: str, host: str, environment: Mapping[str, str]) -> Place:
    """The place of this process. Nothing is made yet."""
    check_run_id(run_id)
    return Place(
        output=Path(output).absolute(),
        run_id=run_id or _launcher_id(environment) or new_run_id(),
        host=_as_name(host) or "localhost",
        rank=rank_of(environment),
        pid=os.getpid(),
        chosen=bool(run_id),
        ranks=ranks_in(environment),
    )


def check_run_id(run_id: str) -> None:
    """Refuse a name that the folder of a run cannot have."""
    if run_id and (_ODD.search(run_id) or run_id.startswith(".") or len(run_id) > _LONGEST):
        raise UsageError(
            f"{run_id[:40]!r} cannot name a run", "it names a folder", "Use letters, digits and . _ - + @ = ,"
        )


def rank_of(environment: Mapping[str, str]) -> int | None:
    """The rank that the launcher gave this process."""
    return _first_number(RANKS, environment)


def ranks_in(environment: Mapping[str, str]) -> int:
    """Return how many processes the launcher started together; 1 without one."""
    return _first_number(_SIZES, environment) or 1


def _first_number(names: tuple[str, ...], environment: Mapping[str, str]) -> int | None:
    values = (environment.get(name, "") for name in names)
    return next((int(value) for value in values if re.fullmatch(r"[0-9]{1,9}", value)), None)


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


def note_pass(place: Place, number: int, total: int, *, goes_on: bool) -> None:
    """Tell the launcher how many launches the run takes, and whether this rank has more to record after this one."""
    folder = place.run / PASSES
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"of-{total}").touch()
        if goes_on:
            (folder / f"more-{number}").touch()


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
    torchrun, one_node = environment.get("TORCHELASTIC_RUN_ID", ""), _on_one_node(environment)
    unnamed = torchrun == "none"  # torchrun's default
    named = {
        "": environment.get(RUN_ID_VARIABLE, ""),
        "torchrun-": (_agent_id() if one_node else "") if unnamed else torchrun,
        "slurm-": _slurm_id(environment),
        "mpi-": _mpi_id(environment),
        "flux-": environment.get("FLUX_JOB_ID", ""),
        "pals-": environment.get("PALS_APID", ""),
        # Without a name for all nodes, the ranks of each node are one run.
        "node-": _agent_id() if unnamed or "PMI_RANK" in environment else "",
    }
    return next((_as_name(prefix + value) for prefix, value in named.items() if value), "")


def _slurm_id(environment: Mapping[str, str]) -> str:
    """The id of a SLURM step; empty without one, in a shell of the allocation, where many programs are run."""
    job, step = environment.get("SLURM_JOB_ID"), environment.get("SLURM_STEP_ID")
    again = environment.get("SLURM_RESTART_COUNT", "0")
    return f"{job}.{step}{'' if again == '0' else f'-restart{again}'}" if job and step else ""


def _mpi_id(environment: Mapping[str, str]) -> str:
    """The id of a run of Open MPI. Its job ids come again, in containers above all; a key of the run does not."""
    job = environment.get("PMIX_NAMESPACE", "") or environment.get("OMPI_MCA_ess_base_jobid", "")
    key = environment.get("OMPI_MCA_orte_precondition_transports", "")
    return f"{job}-{key[:8]}" if job and key else job


def _on_one_node(environment: Mapping[str, str]) -> bool:
    return environment.get("WORLD_SIZE") == environment.get("LOCAL_WORLD_SIZE")


def _agent_id() -> str:
    """An id of the launcher's process on this node, our parent: its number and when it started."""
    agent = os.getppid()
    try:
        started = (PROC / str(agent) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
    return f"{agent}-{started}"


def new_run_id() -> str:
    """A name that no other run has: the time, and something random."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def _as_name(text: str) -> str:
    return _ODD.sub("-", text).strip(".")[:_LONGEST]
