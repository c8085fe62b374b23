"""Snapshots of several dispatches of one kernel, from runs of the program as it is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.model.vendor import Vendor
from rocm_perf.optimize.proof.program import Program
from rocm_perf.replay import reading
from rocm_perf.replay.capture import Captured, NoMatchError, Request, TooFewMatchesError, capture
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.snapshot import KERNARG, Snapshot
from rocm_perf.units import format_bytes, format_count

MOST_STATES = 3
MOST_BYTES = 2 << 30  # of all states together
_NEAREST = 5
_NEVER = 1 << 40  # a dispatch that no run gets to

Say = Callable[[str], None]


def _silent(_text: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class StatesRequest:
    """What to capture, and how much of it."""

    program: Program
    kernel: str  # regular expression, searched for in symbols and demangled names
    vendor: Vendor
    folder: Path  # each state gets a folder in it
    most: int = MOST_STATES
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True)
class CapturedStates:
    """The snapshots of one kernel."""

    snapshots: tuple[Snapshot, ...]
    dispatches: int  # of the kernel, in one run of the program
    notes: tuple[str, ...] = ()


def capture_states(request: StatesRequest, say: Say = _silent) -> CapturedStates:
    """Snapshots of dispatches of every shape, and of the last one: as many as differ and fit. The program runs once to
    count them, and once for each. Raises why there is none."""
    say("counting the kernel's dispatches")
    count, shapes = _counted(request)
    first, cut = _first(request, say)
    snapshots, notes = [first], [cut] if cut else []
    for number in dispatches_after_first(count, shapes, request.most):
        one = _another(request, number, snapshots, say, reachable_only=bool(cut))
        if isinstance(one, str):
            notes.append(one)
        else:
            snapshots.append(one)
    return CapturedStates(tuple(snapshots), count, tuple(notes))


def dispatches_after_first(count: int, shapes: Sequence[int], most: int) -> list[int]:
    """The numbers of dispatches to capture besides the first: those that are the first of another shape, then the last,
    then the one in the middle. Of too many shapes the ones that are spread evenly."""
    others = sorted(set(shapes) - {1})
    room = most - 1
    if len(others) > room:
        return [others[round((step + 1) * len(others) / room) - 1] for step in range(room)]
    wanted = dict.fromkeys((*others, count, (count + 1) // 2))
    return sorted([number for number in wanted if number > 1][:room])


def _counted(request: StatesRequest) -> tuple[int, tuple[int, ...]]:
    """How many dispatches there are in a run of the program, which is asked for one that cannot be, and which of them
    are the first of their shape."""
    done = _run(request, _NEVER, reachable_only=True)
    program, ended = request.program, done.ended
    if fault := program.fault(ended.status, timed_out=ended.timed_out, last_line=ended.stderr_tail):
        raise program.unfit(fault)
    assert done.error is not None
    if isinstance(done.error, TooFewMatchesError):
        return done.error.matched, done.error.shapes
    raise _with_names(done.error)


def _first(request: StatesRequest, say: Say) -> tuple[Snapshot, str]:
    """The first dispatch; where all memory is too much, only what the arguments lead to, and a note on that."""
    snapshot = _captured(request, 1, say, reachable_only=False)
    if snapshot.manifest.raw_bytes <= request.most_bytes:
        return snapshot, ""
    whole = snapshot.manifest.raw_bytes
    shutil.rmtree(snapshot.folder)
    snapshot = _captured(request, 1, say, reachable_only=True)
    note = f"of {format_bytes(whole)} only the {format_bytes(snapshot.manifest.raw_bytes)} that the arguments lead to"
    return snapshot, f"{note} are compared"


def _another(
    request: StatesRequest, number: int, others: list[Snapshot], say: Say, *, reachable_only: bool
) -> Snapshot | str:
    """One more dispatch, or why it is left out."""
    room = request.most_bytes - sum(one.manifest.raw_bytes for one in others)
    if others[-1].manifest.raw_bytes > room:
        return f"dispatch {number} is not captured: all states together may take {format_bytes(request.most_bytes)}"
    try:
        snapshot = _captured(request, number, say, reachable_only=reachable_only)
    except EmptyCaptureError as error:
        return f"dispatch {number} is not captured: {error.what}"
    if snapshot.dispatch.kernel != others[0].dispatch.kernel:
        reason = f"dispatch {number} is of another kernel, {snapshot.dispatch.kernel}"
    elif fingerprint(snapshot) in map(fingerprint, others):
        reason = f"dispatch {number} begins as an earlier one does"
    else:
        return snapshot
    shutil.rmtree(snapshot.folder)
    return reason


def fingerprint(snapshot: Snapshot) -> object:
    """What two dispatches that begin alike have in common. Addresses differ from run to run: of an argument that is one
    only the place in its region counts."""
    dispatch, files = snapshot.dispatch, snapshot.manifest.files
    memory = sorted(
        (region.size, files[region.before].sha256) for region in snapshot.saved if region.kind != "kernarg"
    )
    shape = dispatch.grid, dispatch.workgroup, dispatch.dynamic_lds_bytes
    return shape, _without_addresses(snapshot), memory


def _without_addresses(snapshot: Snapshot) -> tuple[int, ...]:
    """The arguments by words of four bytes, with addresses counted from the beginning of their region."""
    size = snapshot.dispatch.kernarg.size
    block = reading.contents(snapshot.folder, snapshot.stored_name(KERNARG), size)
    words: list[int] = []
    at = 0
    while at < size:
        address = int.from_bytes(block[at : at + 8], "little")
        bases = (region.base for region in snapshot.regions if region.base <= address < region.end)
        base = next(bases, None) if at % 8 == 0 else None
        step = 4 if base is None else 8
        words.append(int.from_bytes(block[at : at + step], "little") - (base or 0))
        at += step
    return tuple(words)


def _captured(request: StatesRequest, number: int, say: Say, *, reachable_only: bool) -> Snapshot:
    """The snapshot of one dispatch. The program is ended after it."""
    say(f"capturing dispatch {number}")
    done = _run(request, number, reachable_only=reachable_only)
    if done.report is None:
        assert done.error is not None
        raise done.error
    first, *others = done.report.snapshots
    for other in others:  # of other processes of the program
        shutil.rmtree(other, ignore_errors=True)
    return read_snapshot(Path(first))


def _run(request: StatesRequest, number: int, *, reachable_only: bool) -> Captured:
    wish = Request(
        command=request.program.argv,
        kernel=request.kernel,
        output=request.folder / f"dispatch-{number}",
        vendor=request.vendor,
        dispatch=number,
        reachable_only=reachable_only,
        stop_after=True,
        compress=False,
        force=True,
    )
    return capture(wish, _silent, request.program.environment, request.program.launched)


def _with_names(error: RocmPerfError) -> RocmPerfError:
    """The error; where no kernel matched, with the nearest names."""
    if not isinstance(error, NoMatchError) or not error.seen:
        return error
    names = ", ".join(name for name, _ in error.seen[:_NEAREST])
    more = format_count(len(error.seen) - _NEAREST, "other") if len(error.seen) > _NEAREST else ""
    launched = f"it launched {names}{f' and {more}' if more else ''}"
    return EmptyCaptureError(error.what, launched, "Choose one with --kernel.")


def exactly(symbol: str) -> str:
    """The regular expression that matches one symbol alone."""
    return f"^{re.escape(symbol)}$"
