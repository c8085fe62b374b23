"""Captured states, ready to be replayed, and what the original's own replays showed of each. A candidate costs one
replay per state then."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rocm_perf.model.results.optimize import Geometry
from rocm_perf.model.results.replay import Three, Verification
from rocm_perf.optimize.proof.slack import with_slack
from rocm_perf.replay.code import code_of
from rocm_perf.replay.errors import KernelFailedError, ReplayTimeoutError
from rocm_perf.replay.plan import Code, Sizes
from rocm_perf.replay.replayer import Replayer, Say, ready, unheard
from rocm_perf.replay.snapshot import Dispatch, Snapshot
from rocm_perf.replay.tolerance import Tolerance
from rocm_perf.replay.verify import Examined, examine, refused

TIMEOUT_S = 60.0  # of one replay
# What a candidate may do to its replay. Anything else that goes wrong is not its fault.
CANDIDATE_FAILS = (KernelFailedError, ReplayTimeoutError)


@dataclass(frozen=True)
class Variant:
    """A build of the kernel, and how it is launched."""

    code: Path  # a code object, a program or a library that has the kernel
    geometry: Geometry | None = None  # None: as captured


class State:
    """One captured dispatch."""

    def __init__(self, replayer: Replayer, given: tuple[Tolerance, ...]) -> None:
        self.replayer = replayer
        self.given = given

    @property
    def snapshot(self) -> Snapshot:
        return self.replayer.snapshot

    @property
    def name(self) -> str:
        return f"dispatch {self.snapshot.dispatch.dispatch}"

    @cached_property
    def examined(self) -> Examined | Verification:
        """The original on this state, once; a verdict where nothing can be verified."""
        return refused(self.snapshot) or examine(self.replayer, self.given, spoils=True)

    def code(self, variant: Variant | None, label: str) -> Code:
        """The kernel of a variant, launched as its geometry says; of none, the original. Refused where the file does
        not have the kernel."""
        if variant is None:
            return Code(label, self.replayer.files[self.snapshot.dispatch.code_object])
        code = code_of(variant.code, label, self.snapshot, self.replayer.work)
        return replace(code, sizes=sizes_of(self.snapshot.dispatch, variant.geometry))


@dataclass(frozen=True)
class States:
    """All captured dispatches of the kernel."""

    states: tuple[State, ...]
    notes: tuple[str, ...] = ()  # what is left out, and why

    def __iter__(self) -> Iterator[State]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)

    @property
    def kernel(self) -> str:
        """Its symbol."""
        return self.states[0].snapshot.dispatch.kernel

    @property
    def name(self) -> str:
        """Its name, as people read it."""
        return self.states[0].snapshot.dispatch.name or self.kernel


@contextmanager
def opened_states(
    snapshots: Sequence[Snapshot],
    given: tuple[Tolerance, ...] = (),
    *,
    timeout_s: float = TIMEOUT_S,
    emulate: bool = False,
    say: Say = unheard,
) -> Iterator[States]:
    """The states of some snapshots, on a GPU or emulated; what is unpacked for them goes at the end."""
    with ExitStack() as stack:
        replayers = [stack.enter_context(ready(one, timeout_s, say, emulate=emulate)) for one in snapshots]
        yield States(tuple(State(with_slack(replayer), given) for replayer in replayers))


def sizes_of(dispatch: Dispatch, geometry: Geometry | None) -> Sizes | None:
    """How a candidate is launched in place of a captured dispatch; None: as captured."""
    if geometry is None:
        return None
    axes = zip(dispatch.grid, dispatch.workgroup, geometry.block, strict=True)
    x, y, z = (
        math.ceil(items / (block if geometry.keeps_items else group)) * block for items, group, block in axes
    )
    grid: Three = (x, y, z)
    return Sizes(grid=grid, workgroup=geometry.block)
