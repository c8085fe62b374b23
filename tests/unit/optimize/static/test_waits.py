"""What a wave has under way when it waits, read from listings as llvm-objdump writes them."""

from __future__ import annotations

from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.optimize.static.waits import Wait, local_waits, summary, vector_waits


def _listing(*texts: str) -> list[Instruction]:
    return [Instruction(address=4 * place, size_bytes=4, text=text) for place, text in enumerate(texts)]


_LOAD, _WIDE = "global_load_dword v1, v[2:3], off", "global_load_dwordx4 v[4:7], v[2:3], off"
_STORE, _ADD = "global_store_dword v[2:3], v1, off", "v_add_f32_e32 v0, v1, v2"


def test_a_wait_after_each_load_has_one_load_under_way() -> None:
    waits = vector_waits(
        _listing(_LOAD, "s_waitcnt vmcnt(0)", _LOAD, _ADD, "s_waitcnt vmcnt(0) lgkmcnt(0)"), "gfx942"
    )
    assert waits == [Wait(4, 1, 4, 1), Wait(16, 1, 4, 2)]
    assert summary(waits, ()).in_flight_bytes == 4


def test_loads_that_were_issued_together_count_together() -> None:
    code = _listing(
        _LOAD, _LOAD, _WIDE, "s_waitcnt vmcnt(2)", _ADD, "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)"
    )
    waits = vector_waits(code, "gfx942")
    assert [wait.in_flight_bytes for wait in waits] == [24, 24, 24]
    assert [wait.distance for wait in waits] == [3, 4, 4]


def test_a_wait_for_more_than_is_under_way_is_none() -> None:
    assert vector_waits(_listing(_LOAD, "s_waitcnt vmcnt(3)"), "gfx942") == []


def test_stores_share_the_counter_on_gfx9_only() -> None:
    code = _listing(_LOAD, _STORE, "s_waitcnt vmcnt(1)")
    assert len(vector_waits(code, "gfx90a")) == 1
    assert vector_waits(code, "gfx1100") == []


def test_gfx12_has_an_instruction_for_each_counter() -> None:
    code = _listing(
        "global_load_b128 v[0:3], v[4:5], off", "ds_load_b32 v9, v8", "s_wait_loadcnt 0x0", "s_wait_dscnt 0x0"
    )
    assert vector_waits(code, "gfx1201")[0].in_flight_bytes == 16
    assert local_waits(code)[0].in_flight_bytes == 4


def test_only_waits_in_the_loops_count_where_there_are_loops() -> None:
    code = _listing(_WIDE, "s_waitcnt vmcnt(0)", _LOAD, "s_waitcnt vmcnt(0)")
    waits = vector_waits(code, "gfx942")
    assert summary(waits, [(8, 12)]).in_flight_bytes == 4
    assert summary(waits, [(100, 200)]).count == 0
