"""A snapshot ready to be replayed: checked, unpacked, with the runner for its vendor."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.errors import OutputError
from rocm_perf.replay import native
from rocm_perf.replay.plan import Options, plan_text
from rocm_perf.replay.run import Answer, Ended, outcome, run_plan
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.store import check_room, unpack

TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Replayer:
    """Runs plans on one snapshot."""

    snapshot: Snapshot
    files: Mapping[str, Path]  # the snapshot's, raw
    runner: Path
    work: Path
    timeout_s: float = TIMEOUT_S

    def run(self, options: Options) -> Answer:
        """What the runner answers, or why it could not."""
        return outcome(self.attempt(options))

    def attempt(self, options: Options) -> Ended:
        plan = self.work / "plan.txt"
        dumps = self.work / "dump"
        shutil.rmtree(dumps, ignore_errors=True)
        dumps.mkdir()
        check_room(self.work, sum(region.size for region in options.dumps), "the result cannot be kept")
        plan.write_text(plan_text(self.snapshot, self.files, self.work, options))
        return run_plan(self.runner, plan, self.timeout_s)

    def keep_dumps(self, name: str) -> Path:
        """Set the dumps aside before the next run: the folder to give to `dump_path`."""
        kept = self.work / name
        kept.mkdir()
        (self.work / "dump").rename(kept / "dump")
        return kept


@contextmanager
def ready(snapshot: Snapshot, timeout_s: float = TIMEOUT_S) -> Iterator[Replayer]:
    """The runner first, because it is quick to say that it is not there; then every file, checked."""
    runner = native.part(snapshot.dispatch.vendor, "replay")
    with work_folder() as work:
        yield Replayer(snapshot, unpack(snapshot, work), runner, work, timeout_s)


@contextmanager
def work_folder() -> Iterator[Path]:
    try:
        work = Path(tempfile.mkdtemp(prefix="rocm-perf-replay-"))
    except OSError as error:
        raise OutputError(
            "there is no folder to work in", error.strerror or str(error), "Set TMPDIR."
        ) from error
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
