"""Cheats that can be seen in the source are stopped there, each by its gate; no other cheat is, so that further gates
are what stops those."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.gates import Gate
from rocm_perf.optimize.guards.precision import precision_passage
from rocm_perf.optimize.guards.safety import safety_passage
from rocm_perf.optimize.guards.text import text_passage
from tests.gpu.optimize.cheats.table import CHEATS, Cheat

GUARDS = (text_passage, safety_passage, precision_passage)
SEEN_HERE: tuple[Gate, ...] = ("text", "safety", "precision")


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_the_first_gate_that_stops_it(cheat: Cheat) -> None:
    changed = cheat.candidate.applied_to(cheat.source)
    passages = [guard(cheat.source, changed, cheat.kernel) for guard in GUARDS]
    stopped_by = [passage.gate for passage in passages if not passage.passed]
    assert stopped_by[:1] == ([cheat.gate] if cheat.gate in SEEN_HERE else [])
