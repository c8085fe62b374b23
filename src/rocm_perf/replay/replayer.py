"""A snapshot ready to be replayed: checked, unpacked, with the runner for its vendor."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf.errors import OutputError
from rocm_perf.replay import native
from rocm_perf.replay.emulated import emulating_runner
from rocm_perf.replay.plan import CAPTURED, Options
from rocm_perf.replay.run import Answer, Ended, outcome
from rocm_perf.replay.runner import TMPDIR, NativeRunner, Runner, Task
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.store import check_room, unpack
from rocm_perf.units import format_bytes, format_count

TIMEOUT_S = 300.0

Say = Callable[[str], None]


def unheard(_text: str) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class Replayer:
    """Runs plans on one snapshot."""

    snapshot: Snapshot
    files: Mapping[str, Path]  # the snapshot's, raw
    runner: Runner
    work: Path
    timeout_s: float = TIMEOUT_S
    say: Say = unheard  # is told of each replay before it starts
    oracle: str = "the application's result"  # what the state after the kernel is called
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    def run(self, options: Options) -> Answer:
        """What the runner answers; raises why it could not."""
        return outcome(self.attempt(options))

    def attempt(self, options: Options) -> Ended:
        """How a run of the runner ended."""
        self.say(f"replay {next(self._numbers)}: {text_of(options)}")
        dumps = self.work / "dump"
        shutil.rmtree(dumps, ignore_errors=True)
        check_room(self.work, sum(region.size for region in options.dumps), "the result cannot be kept")
        return self.runner(Task(self.snapshot, self.files, self.work, options), self.timeout_s)

    def keep_dumps(self, name: str) -> Path:
        """Set the dumps aside before the next run: the folder to give to `dump_path`."""
        kept = self.work / name
        shutil.rmtree(kept, ignore_errors=True)  # of a run that failed
        kept.mkdir()
        (self.work / "dump").rename(kept / "dump")
        return kept


@contextmanager
def ready(
    snapshot: Snapshot, timeout_s: float = TIMEOUT_S, say: Say = unheard, *, emulate: bool = False
) -> Iterator[Replayer]:
    """A replayer: the runner first, because it is quick to say that it is not there; then every file, checked."""
    runner = emulating_runner(snapshot) if emulate else native_runner(snapshot)
    with work_folder() as work:
        say(reading_text(snapshot))
        yield Replayer(
            snapshot=snapshot,
            files=unpack(snapshot, work),
            runner=runner,
            work=work,
            timeout_s=timeout_s,
            say=say,
        )


def native_runner(snapshot: Snapshot) -> Runner:
    """The runner that needs a GPU; compiled unless that was done before."""
    return NativeRunner(native.part(snapshot.dispatch.vendor, "replay"))


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder that goes at the end. In TMPDIR, where that is set: Python would silently take another one if that
    cannot be used."""
    chosen = os.environ.get("TMPDIR") or None
    try:
        work = Path(tempfile.mkdtemp(prefix="rocm-perf-replay-", dir=chosen)).absolute()
    except OSError as error:
        where = f"TMPDIR is {chosen}: " if chosen else ""
        raise OutputError(
            "there is no folder to work in", f"{where}{error.strerror or error}", TMPDIR
        ) from error
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def planned_files(snapshot: Snapshot, work: Path) -> dict[str, Path]:
    """Where each file would lie for the runner, raw, once it is unpacked below `work`."""
    holders = {name: entry.same_as or name for name, entry in snapshot.manifest.files.items()}
    return {
        name: work / holder if snapshot.is_packed(holder) else snapshot.path(holder)
        for name, holder in holders.items()
    }


def reading_text(snapshot: Snapshot) -> str:
    return f"reading {format_bytes(snapshot.manifest.raw_bytes)} of {snapshot.folder}"


def text_of(options: Options) -> str:
    """What sets a replay apart from the others, for people who wait for it."""
    if not options.launch:
        return f"{'outputs poisoned, ' if options.poison else ''}kernel not launched"
    if options.grid is not None:
        return "half of the grid"
    if options.iterations > 1:
        return format_count(options.iterations + options.warmup, "launch", "launches")
    code = "new code" if any(code.label != CAPTURED for code in options.codes) else "as captured"
    filled = sum(spot.size for spot in options.poison)
    return f"{code}, {format_bytes(filled)} filled before" if filled else code
