"""Proof without a GPU: captured states of an AMD kernel, on which code is executed by the software GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rocm_perf.errors import UsageError
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.proof.captured import judging_states, prove_captured
from rocm_perf.optimize.proof.fresh import prove_fresh
from rocm_perf.optimize.proof.inputs import FreshInputs
from rocm_perf.optimize.proof.states import States, Variant, opened_states
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.tolerance import Tolerance

_SEED = 1  # nothing is accepted here, so that nobody has to be surprised


@contextmanager
def emulated_states(
    folders: Sequence[Path], given: tuple[Tolerance, ...], timeout_s: float
) -> Iterator[States | None]:
    """The states of some snapshots on which the captured code gives its own result; None where none was given."""
    if not folders:
        yield None
        return
    snapshots = [read_snapshot(folder) for folder in folders]
    kernels = {snapshot.dispatch.kernel for snapshot in snapshots}
    if len(kernels) > 1:
        raise UsageError(
            "the snapshots are of different kernels", ", ".join(sorted(kernels)), "Give those of one."
        )
    with opened_states(snapshots, given, timeout_s=timeout_s, emulate=True) as states:
        yield judging_states(states)


def emulated_passages(states: States, variant: Variant, types: Sequence[str]) -> Iterator[Passage]:
    """Whether code gives the captured results, and those of the captured code on other inputs."""
    yield prove_captured(states, variant)
    yield prove_fresh(FreshInputs(states, types), variant, _SEED)
