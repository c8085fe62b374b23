"""The order in which candidates are worth a GPU's time, by their code alone."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as with_values

from rocm_perf.model.results.optimize import Resources, StaticFacts
from rocm_perf.optimize.static.rank import View, placed

FACTS = StaticFacts(
    in_loops=True, instructions=100, accesses=10, instructions_per_byte=2.5, waits=4, bytes_in_flight=4.0,
    wait_distance=5.0,
)  # fmt: skip
ORIGINAL = View(Resources(vgprs=32, spills=0, scratch_bytes=0, waves=8.0), FACTS)


def _view(**changed: float) -> View:
    needs = {key: value for key, value in changed.items() if hasattr(ORIGINAL.needs, key)}
    facts = {key: value for key, value in changed.items() if hasattr(FACTS, key)}
    return View(with_values(ORIGINAL.needs, **needs), with_values(FACTS, **facts))


def test_bytes_under_way_come_before_instructions_and_spills_come_last() -> None:
    candidates = [
        ("spilling", _view(spills=4, bytes_in_flight=64.0)),
        ("leaner", _view(instructions_per_byte=2.0)),
        ("unrolled", _view(bytes_in_flight=16.0, waves=5.0, vgprs=48)),
        ("slower", _view(bytes_in_flight=4.0, waves=4.0)),
    ]
    places = placed(ORIGINAL, candidates)
    assert [place.key for place in places] == ["unrolled", "leaner", "slower", "spilling"]
    assert [place.is_promising for place in places] == [True, True, False, False]
    assert places[0].reasons == (
        "bytes under way for each lane of a SIMD 32 -> 80",
        "waves 8 -> 5",
        "VGPRs 32 -> 48",
    )


def test_differences_too_small_to_speak_of_do_not_order() -> None:
    places = placed(ORIGINAL, [("first", _view(instructions_per_byte=2.51)), ("second", _view())])
    assert [(place.key, place.is_promising, place.reasons) for place in places] == [
        ("first", False, ()),
        ("second", False, ()),
    ]


def test_without_a_listing_waves_and_registers_are_left() -> None:
    blind = replace(ORIGINAL, facts=None)
    fewer = View(with_values(blind.needs, waves=6.0))
    more = View(with_values(blind.needs, waves=10.0))
    assert [place.key for place in placed(blind, [("fewer", fewer), ("more", more)])] == ["more", "fewer"]
