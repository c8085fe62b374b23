"""The checks that a cheat would have to get past. Users always have all of them; tests open one at a time, to show that
each catches what it is there for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gates:
    """What the judge insists on."""

    own_process: bool = True  # the two functions never share a process, nor its objects and freed memory
    fresh_inputs: bool = True  # no two rounds have the same inputs
    random_values: bool = True  # inputs that are always the same get values of the judge's own
    reused_buffers: bool = (
        True  # new inputs lie where the old ones were: an address says nothing about values
    )
    fresh_outputs: bool = True  # in-place arguments do not hold what the other function left there
    unchanged_inputs: bool = True  # arguments that are not in-place are as they were, bit for bit
    type_tolerance: bool = True  # the tolerance is that of the type, not a loose one for all
    exact_nan: bool = True  # NaN is right only where NaN is expected
    plain_results: bool = True  # a result is data, not an object that will compute it
    settled_results: bool = True  # what was there when the clock stopped is what is there later
    checked_laps: bool = True  # results of timed calls are compared, too
    judges_clock: bool = True  # times are the judge's, not what the judged process says
    idle_before: bool = (
        True  # nothing is computed between the arrival of the inputs and the start of the clock
    )


CLOSED = Gates()
LOOSE_TOLERANCE = 1e-2  # absolute, as guides use it; only with the gate type_tolerance open
