"""Verification: the application's own result or not, and the controls that prove we would notice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.model.results.replay import Three, Verification
from rocm_perf.replay.differences import pieces
from rocm_perf.replay.errors import KernelFailedError
from rocm_perf.replay.plan import Code, Poison
from rocm_perf.replay.replayer import ready
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.tolerance import Tolerance
from rocm_perf.replay.trial import poison_of, truncated
from rocm_perf.replay.verify import refused, verify
from tests.unit.replay.toys import BASE, BLOCK, COUNT, OTHER, Toy, code_text, floats, make_snapshot

ADD = f"add 0x{BASE:x} {COUNT} 1"
LOOSE = Tolerance("f32", 0.0, 0.01)


def verified(
    folder: Path, toy: Toy, *new: str, given: tuple[Tolerance, ...] = (), timeout_s: float = 20
) -> Verification:
    snapshot = make_snapshot(folder, toy)
    code = None
    if new:
        (folder / "new.ptx").write_text(code_text(*new))
        code = Code("B", folder / "new.ptx")
    with ready(snapshot, timeout_s) as replayer:
        return verify(replayer, given, code)


def outcomes(found: Verification) -> list[str]:
    return [control.outcome for control in found.controls]


pytestmark = pytest.mark.usefixtures("runner")
MUST = "failed as it must"


def test_the_same_bit_for_bit(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy())
    assert found.verdict == "same"
    assert found.captured is not None
    assert (found.captured.differing_bytes, found.captured.compared_bytes) == (0, 4 * BLOCK)
    assert outcomes(found) == [MUST, MUST, MUST]
    assert found.deterministic is None


def test_a_replay_that_gives_something_else(tmp_path: Path) -> None:
    """A kernel that reads what the snapshot does not hold, such as a clock."""
    found = verified(tmp_path, Toy(program=(f"add 0x{BASE:x} {COUNT} 3",)))
    assert found.verdict == "different"
    assert found.deterministic is True
    assert found.captured is not None
    (difference,) = found.captured.differences
    assert (difference.region, difference.offset, difference.address) == (f"0x{BASE:x}", 2, f"0x{BASE + 2:x}")
    assert (difference.expected_f32, difference.got_f32) == (1.0, 3.0)
    assert difference.is_output
    assert outcomes(found) == [MUST, MUST, MUST]


def test_a_kernel_that_also_writes_elsewhere(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(program=(ADD, f"put 0x{OTHER + 70000:x} 5")))
    assert found.verdict == "different"
    assert found.captured is not None
    (difference,) = found.captured.differences
    assert not difference.is_output
    assert (difference.offset, difference.differing_bytes) == (70000, 1)
    assert (difference.expected[:2], difference.got[:2]) == ("00", "05")


def test_a_kernel_that_does_nothing_is_noticed(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(), "time 5")
    assert found.verdict == "different"
    assert found.captured is not None
    assert found.captured.verdict == "same"


def test_new_code(tmp_path: Path) -> None:
    assert verified(tmp_path / "same", Toy(), ADD, "time 5").verdict == "same"
    found = verified(tmp_path / "other", Toy(), f"add 0x{BASE:x} {COUNT - 1} 1")
    assert found.verdict == "different"
    assert found.new is not None
    assert found.new.differences[0].offset == 4 * (COUNT - 1) + 2


def test_new_code_that_rounds_otherwise_needs_a_given_tolerance(tmp_path: Path) -> None:
    rounded = (f"add 0x{BASE:x} {COUNT} 1.001",)
    assert verified(tmp_path / "a", Toy(), *rounded).verdict == "different"
    found = verified(tmp_path / "b", Toy(), *rounded, given=(LOOSE,))
    assert found.verdict == "same within tolerance"
    assert found.new is not None
    assert found.new.tolerance == "f32 within 0 absolute or 0.01 relative"
    far = verified(tmp_path / "c", Toy(), f"add 0x{BASE:x} {COUNT} 2", given=(LOOSE,))
    assert far.verdict == "different"


@pytest.mark.parametrize(("off", "needed"), [("1.000001", "f32=0,1e-05"), ("1.001", "")])
def test_new_code_that_rounds_otherwise_is_told_which_tolerance_it_needs(
    tmp_path: Path, off: str, needed: str
) -> None:
    found = verified(tmp_path, Toy(), f"add 0x{BASE:x} {COUNT} {off}")
    assert found.verdict == "different"
    assert found.new is not None
    assert found.new.needed == needed
    assert ("by rounding alone" in found.reason) == bool(needed)


def test_a_given_tolerance_excuses_no_write_elsewhere(tmp_path: Path) -> None:
    loose = Tolerance("f32", 1e9, 0.99)
    found = verified(tmp_path, Toy(), ADD, f"put 0x{OTHER + 70000:x} 5", given=(loose,))
    assert found.verdict == "different"


def test_new_code_is_not_judged_by_a_replay_that_fails_itself(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(program=(f"add 0x{BASE:x} {COUNT} 3",)), ADD)
    assert found.verdict == "cannot be verified"
    assert "not even the captured code" in found.reason


def noisy(scale: float) -> Toy:
    return Toy(program=(ADD, f"noise 0x{BASE:x} {COUNT} {scale}"))


def test_a_kernel_that_is_not_deterministic_is_close(tmp_path: Path) -> None:
    found = verified(tmp_path, noisy(1e-6))
    assert found.verdict == "same within tolerance"
    assert found.deterministic is False
    assert found.captured is not None
    assert found.captured.tolerance == "f32 within 0 absolute or 1e-05 relative"
    assert outcomes(found) == [MUST, MUST, MUST]


def test_or_is_not(tmp_path: Path) -> None:
    assert verified(tmp_path / "a", noisy(1e-2)).verdict == "different"
    assert (
        verified(tmp_path / "b", noisy(1e-2), given=(Tolerance("f32", 0.0, 0.02),)).verdict
        == "same within tolerance"
    )


def noisy_and_off(gap: int, value: float) -> Toy:
    """Two blocks that the kernel writes, with some between them: one is noisy, the other one always wrong by little."""
    toy = noisy(1e-6)
    values = range(1, COUNT + 1)
    toy.before = floats(*values) + bytes(BLOCK - 4 * COUNT + gap) + floats(1.0) + bytes(BLOCK - 4)
    toy.after = (
        floats(*(one + 1 for one in values)) + bytes(BLOCK - 4 * COUNT + gap) + floats(2.0) + bytes(BLOCK - 4)
    )
    toy.program = (*toy.program, f"stride 0x{BASE + BLOCK + gap:x} 1 {value}")
    return toy


@pytest.mark.parametrize("gap", [0, BLOCK])
def test_what_replays_agree_on_while_they_differ_elsewhere_cannot_be_told(tmp_path: Path, gap: int) -> None:
    """The application's run may have been a rare one. A tolerance for one value does not excuse its neighbours."""
    found = verified(tmp_path, noisy_and_off(gap, 1.000001))
    assert (found.verdict, found.deterministic) == ("cannot be verified", False)
    assert "chance" in found.reason
    assert found.captured is not None
    assert [one.offset // BLOCK for one in found.captured.differences] == [1 + gap // BLOCK]


def test_unless_it_is_off_by_more_than_the_tolerance(tmp_path: Path) -> None:
    assert verified(tmp_path, noisy_and_off(0, 1.001)).verdict == "different"


def test_new_code_is_held_to_what_the_captured_code_is_sure_of(tmp_path: Path) -> None:
    """A tolerance that the captured code needs in one place is none for new code elsewhere."""
    off = f"stride 0x{BASE + BLOCK:x} 1 1.000001"
    found = verified(tmp_path, noisy_and_off(0, 1.0), *noisy_and_off(0, 1.0).program[:-1], off)
    assert (found.verdict, found.deterministic) == ("cannot be verified", False)
    assert found.captured is not None
    assert found.captured.verdict == "same within tolerance"
    assert "the new code differs" in found.reason
    assert "--tolerance" in found.reason


def wobbly(pattern: str) -> tuple[str, ...]:
    """One value that comes out in one of two ways: the last digit of the pattern for ever."""
    return (ADD, f"wobble 0x{BASE + 4:x} {pattern}")


@pytest.mark.parametrize("pattern", ["10", "1110", "111110"])
def test_a_value_that_comes_out_in_one_of_two_ways(tmp_path: Path, pattern: str) -> None:
    """Replays that agree a few times prove nothing yet."""
    found = verified(tmp_path, Toy(program=wobbly(pattern)))
    assert (found.verdict, found.deterministic) == ("same within tolerance", False)
    assert found.captured is not None
    assert found.captured.differing_bytes == 1


def test_a_value_that_always_comes_out_in_another_way(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(program=wobbly("1")))
    assert (found.verdict, found.deterministic) == ("different", True)
    assert "--tolerance" not in found.reason


@pytest.mark.parametrize("pattern", ["00010", "00000010"])
def test_the_captured_code_was_right_by_luck(tmp_path: Path, pattern: str) -> None:
    """Two replays look for what it overwrites, the third is the first to be judged."""
    found = verified(tmp_path, Toy(program=wobbly(pattern)), *wobbly("1"))
    assert (found.verdict, found.deterministic) == ("same within tolerance", False)
    assert found.captured is not None
    assert found.captured.verdict == "same"


def test_the_captured_code_was_right_for_good_reason(tmp_path: Path) -> None:
    found = verified(tmp_path / "a", Toy(program=wobbly("0")), *wobbly("1"))
    assert (found.verdict, found.deterministic) == ("different", True)
    gross = verified(tmp_path / "b", Toy(), f"add 0x{BASE:x} {COUNT} 2")
    assert (gross.verdict, gross.deterministic) == (
        "different",
        None,
    )  # no tolerance helps: nothing is repeated


def test_a_kernel_that_is_not_deterministic_is_said_to_be_so(tmp_path: Path) -> None:
    found = verified(tmp_path, noisy(1e-2))
    assert found.verdict == "different"
    assert "the kernel is not deterministic: --tolerance TYPE=ABS,REL" in found.reason


SMALL = 0.0005
WIDE = (Tolerance("f32", 1e-3, 1e-3),)


def small_step() -> Toy:
    toy = Toy(program=(f"add 0x{BASE:x} {COUNT} {SMALL}",))
    toy.after = floats(*(value + SMALL for value in range(COUNT))) + bytes(2 * BLOCK - 4 * COUNT)
    return toy


def test_a_tolerance_wider_than_what_the_kernel_does_proves_nothing(tmp_path: Path) -> None:
    found = verified(tmp_path, small_step(), "time 5", given=WIDE)
    assert found.verdict == "cannot be verified"
    assert "the tolerance is wider than what the kernel does" in found.reason
    assert outcomes(found) == ["passed", MUST, "inconclusive"]


def test_but_it_does_no_harm_where_it_is_not_needed(tmp_path: Path) -> None:
    assert verified(tmp_path / "a", small_step(), *small_step().program, given=WIDE).verdict == "same"
    far = verified(tmp_path / "b", small_step(), f"add 0x{BASE:x} {COUNT} 1", given=WIDE)
    assert far.verdict == "different"
    assert outcomes(far) == [MUST, MUST, MUST]


def test_what_the_tolerance_would_excuse_in_a_control_is_said(tmp_path: Path) -> None:
    """Of two blocks, the kernel changes one by less than the tolerance."""
    toy = small_step()
    toy.before = toy.before[:BLOCK] + floats(1.0) + bytes(BLOCK - 4)
    toy.after = toy.after[:BLOCK] + floats(2.0) + bytes(BLOCK - 4)
    toy.program = (*toy.program, f"stride 0x{BASE + BLOCK:x} 1 1")
    found = verified(tmp_path, toy, *toy.program[1:], given=WIDE)
    assert found.verdict == "same within tolerance"
    assert "that the tolerance excuses" in found.controls[0].words


def test_memory_that_was_not_saved_was_not_compared(tmp_path: Path) -> None:
    extra: dict[str, object] = {"base": "0x90000000", "size": 4096, "kind": "host", "saved": False}
    found = verified(tmp_path / "a", Toy(extra=[extra]))
    assert found.verdict == "same"
    assert "not compared, because not saved: 1 region of 4" in found.reason
    assert "not compared" not in verified(tmp_path / "b", Toy()).reason


def test_every_difference_is_listed(tmp_path: Path) -> None:
    places = [OTHER + 5, OTHER + BLOCK + 5]
    found = verified(
        tmp_path, Toy(program=(f"add 0x{BASE:x} {COUNT} 3", *(f"put 0x{at:x} 5" for at in places)))
    )
    assert found.captured is not None
    assert [one.is_output for one in found.captured.differences] == [True, False]


def test_blocks_that_meet_are_one_difference(tmp_path: Path) -> None:
    toy = Toy(before=bytes(3 * BLOCK), after=floats(1.0) * (3 * BLOCK // 4), program=("time 5",))
    found = verified(tmp_path, toy)
    assert found.captured is not None
    (difference,) = found.captured.differences
    assert (difference.offset, difference.differing_bytes) == (2, 2 * 3 * BLOCK // 4)
    assert difference.compared_bytes == 3 * BLOCK


def test_a_loop_over_the_grid_makes_one_control_inconclusive(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(program=(f"stride 0x{BASE:x} {COUNT} 1",)))
    assert found.verdict == "same"
    assert outcomes(found) == [MUST, MUST, "inconclusive"]


def test_one_workgroup_cannot_be_halved(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(workgroup=(64, 1, 1)))
    assert (found.verdict, outcomes(found)) == ("same", [MUST, MUST, "inconclusive"])


@pytest.mark.parametrize(("ill", "words"), [("fail", "failed"), ("hang", "did not end within")])
def test_half_of_a_grid_may_end_badly(tmp_path: Path, ill: str, words: str) -> None:
    found = verified(tmp_path, Toy(program=(ADD, f"below {COUNT} {ill}")), timeout_s=5)
    assert (found.verdict, outcomes(found)) == ("same", [MUST, MUST, MUST])
    assert words in found.controls[-1].words


def test_the_other_controls_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RUNNER", "fail-unlaunched")
    with pytest.raises(KernelFailedError):
        verified(tmp_path, Toy())


def test_a_control_that_passes_leaves_nothing_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_RUNNER", "always-launch")
    found = verified(tmp_path, Toy())
    assert found.verdict == "cannot be verified"
    assert "kernel not launched" in found.reason
    assert outcomes(found)[0] == "passed"


def test_a_tolerance_that_excuses_everything_is_found_out(tmp_path: Path) -> None:
    found = verified(tmp_path, noisy(1e-6), given=(Tolerance("f32", 1e30, 0.0),))
    assert found.verdict == "cannot be verified"


def test_pointers_in_memory(tmp_path: Path) -> None:
    """The kernel follows an address that lies in a region: it must come back where it was."""
    constant = (BASE + 8).to_bytes(8, "little") + bytes(BLOCK - 8)
    after = floats(0, 1, 12, *range(3, COUNT)) + bytes(2 * BLOCK - 4 * COUNT)
    found = verified(tmp_path, Toy(program=(f"chase 0x{OTHER:x} 10",), constant=constant, after=after))
    assert found.verdict == "same"


def test_variables_of_the_code_object(tmp_path: Path) -> None:
    toy = Toy(program=(ADD, "count calls"), variable=b"\5\0\0\0", variable_after=b"\6\0\0\0")
    assert verified(tmp_path / "a", toy).verdict == "same"
    toy.variable_after = b"\7\0\0\0"
    found = verified(tmp_path / "b", toy)
    assert found.verdict == "different"
    assert "lie elsewhere than when captured: calls" in found.reason
    toy.variable_base = 0x1000  # where the stand-in puts variables
    assert "elsewhere" not in verified(tmp_path / "c", toy).reason


def test_only_a_variable_changed(tmp_path: Path) -> None:
    toy = Toy(program=("count calls",), variable=b"\5\0\0\0", variable_after=b"\6\0\0\0")
    toy.after = toy.before
    found = verified(tmp_path, toy)
    assert (found.verdict, outcomes(found)) == ("same", [MUST, "inconclusive"])


def unchanged(*program: str) -> Toy:
    """In a loop: the values that the kernel writes are there from the launch before."""
    values = floats(*[7.0] * COUNT) + bytes(2 * BLOCK - 4 * COUNT)
    return Toy(program=program, before=values, after=values)


SET = f"set 0x{BASE:x} {COUNT} 7"


def test_the_values_were_there_already(tmp_path: Path) -> None:
    found = verified(tmp_path, unchanged(SET))
    assert (found.verdict, found.spoilt_bytes) == ("same", 4 * COUNT)
    assert found.captured is not None
    assert found.captured.compared_bytes == 4 * BLOCK
    assert [control.name for control in found.controls] == [
        "outputs poisoned, kernel not launched",
        "half of the grid",
    ]
    assert outcomes(found) == [MUST, MUST]


def test_new_code_must_write_what_was_there_already(tmp_path: Path) -> None:
    assert verified(tmp_path / "a", unchanged(SET), SET, "time 5").verdict == "same"
    assert verified(tmp_path / "b", unchanged(SET), "time 5").verdict == "different"
    fewer = verified(tmp_path / "c", unchanged(SET), f"set 0x{BASE:x} {COUNT - 1} 7")
    assert fewer.new is not None
    assert fewer.new.differences[0].offset == 4 * (COUNT - 1)


def test_new_code_must_do_so_where_something_else_changed(tmp_path: Path) -> None:
    """A counter changes with every launch, the values do not."""
    toy = unchanged(SET, "count calls")
    toy.variable, toy.variable_after = b"\5\0\0\0", b"\6\0\0\0"
    right = verified(tmp_path / "a", toy, SET, "count calls")
    assert (right.verdict, right.spoilt_bytes) == ("same", 4 * COUNT)
    assert outcomes(right) == [MUST, MUST, MUST]
    assert verified(tmp_path / "b", toy, "count calls").verdict == "different"


def test_in_the_same_block_as_a_change(tmp_path: Path) -> None:
    """Blocks that changed are compared as they are; the next block held the values already."""
    before = bytes(4) + bytes(BLOCK - 4) + floats(*[7.0] * COUNT) + bytes(BLOCK - 4 * COUNT)
    after = floats(7.0) + before[4:]
    toy = Toy(
        program=(f"set 0x{BASE:x} 1 7", f"set 0x{BASE + BLOCK:x} {COUNT} 7"), before=before, after=after
    )
    assert verified(tmp_path / "a", toy, *toy.program).spoilt_bytes == 4 * COUNT
    assert verified(tmp_path / "b", toy, toy.program[0]).verdict == "different"


def test_it_stays_spoilt_where_the_kernel_is_not_deterministic(tmp_path: Path) -> None:
    """Else new code could leave out what was there already."""
    values = floats(*[7.0] * COUNT) + bytes(BLOCK - 4 * COUNT)
    writes = f"set 0x{BASE + BLOCK:x} {COUNT} 7"
    toy = Toy(before=bytes(BLOCK) + values, after=floats(8.0) + bytes(BLOCK - 4) + values)
    toy.program = (f"set 0x{BASE:x} 1 8", f"wobble 0x{BASE:x} 0010", writes)
    found = verified(tmp_path, toy, toy.program[0])
    assert (found.verdict, found.spoilt_bytes) == ("different", 4 * COUNT)
    assert found.captured is not None
    assert found.captured.verdict == "same within tolerance"


def test_it_stays_spoilt_where_it_may_be_chance(tmp_path: Path) -> None:
    values = floats(*[7.0] * COUNT) + bytes(BLOCK - 4 * COUNT)
    eight = floats(8.0) + bytes(BLOCK - 4)
    toy = Toy(before=bytes(BLOCK) + values + bytes(BLOCK), after=eight + values + eight)
    sets = (f"set 0x{BASE:x} 1 8", f"set 0x{BASE + BLOCK:x} {COUNT} 7", f"set 0x{BASE + 2 * BLOCK:x} 1 8")
    toy.program = (*sets, f"wobble 0x{BASE:x} 0010", f"wobble 0x{BASE + 2 * BLOCK:x} 001")
    found = verified(tmp_path, toy, *sets)
    assert (found.verdict, found.spoilt_bytes) == ("cannot be verified", 4 * COUNT)
    assert "chance" in found.reason


def test_a_kernel_that_reads_what_it_overwrites_cannot_be_told_from_nothing(tmp_path: Path) -> None:
    found = verified(tmp_path, unchanged(f"clamp 0x{BASE:x} {COUNT} 8"))
    assert found.verdict == "cannot be verified"
    assert "capture another dispatch" in found.reason


def test_a_kernel_that_writes_nothing(tmp_path: Path) -> None:
    found = verified(tmp_path, unchanged("time 5"))
    assert found.verdict == "cannot be verified"
    assert "nothing was found that it overwrites" in found.reason


def test_a_kernel_that_fails_on_spoilt_memory(tmp_path: Path) -> None:
    """A pointer among the data: filled, it leads nowhere."""
    values = (OTHER).to_bytes(8, "little") + bytes(2 * BLOCK - 8)
    toy = Toy(program=(f"chase 0x{BASE:x} 0",), before=values, after=values)
    assert verified(tmp_path, toy).verdict == "cannot be verified"


def test_without_the_state_after_the_kernel(tmp_path: Path) -> None:
    found = refused(make_snapshot(tmp_path, outputs=False))
    assert found is not None
    assert found.verdict == "cannot be verified"
    assert "--outputs" in found.reason
    assert refused(make_snapshot(tmp_path / "other")) is None


GRID = st.tuples(*[st.integers(1, 5000)] * 3)
GROUP = st.tuples(*[st.integers(1, 32)] * 3)


@given(GRID, GROUP)
def test_half_of_a_grid(grid: Three, workgroup: Three) -> None:
    def groups(sizes: Three) -> int:
        x, y, z = (-(-size // group) for size, group in zip(sizes, workgroup, strict=True))
        return x * y * z

    fewer = truncated(grid, workgroup)
    if fewer is None:
        assert groups(grid) == 1
    else:
        assert 0 < groups(fewer) <= groups(grid) / 2
        assert sum(one != other for one, other in zip(grid, fewer, strict=True)) == 1


def test_outputs_that_are_all_one_byte_are_poisoned_with_another(tmp_path: Path) -> None:
    toy = Toy(
        program=(f"add 0x{BASE:x} {COUNT} -1",), before=floats(*[1.0] * COUNT) + bytes(BLOCK - 4 * COUNT)
    )
    toy.after = bytes(BLOCK)
    found = verified(tmp_path, toy)
    assert (found.verdict, outcomes(found)) == ("same", [MUST, MUST, MUST])


@pytest.mark.parametrize("before", [b"", bytes(BLOCK)])
def test_also_if_that_is_the_usual_one_and_lies_behind_others(tmp_path: Path, before: bytes) -> None:
    toy = Toy(
        program=(f"put 0x{BASE + len(before):x} 0xff",),
        before=before + b"\0" + b"\xff" * (BLOCK - 1),
        after=before + b"\xff" * BLOCK,
    )
    found = verified(tmp_path, toy)
    assert (found.verdict, outcomes(found)) == ("same", [MUST, MUST, "inconclusive"])


def test_neighbours_are_poisoned_at_once_where_one_byte_does(tmp_path: Path) -> None:
    region = Region(base=BASE, size=4 * BLOCK, kind="device", changed=((0, 4 * BLOCK),))
    (tmp_path / "after").write_bytes(bytes(2 * BLOCK) + b"\xff" * BLOCK + bytes(BLOCK))
    assert poison_of(pieces(region), {region.after: tmp_path / "after"}) == (
        Poison(BASE, 2 * BLOCK, 0xFF),
        Poison(BASE + 2 * BLOCK, BLOCK, 0x5A),
        Poison(BASE + 3 * BLOCK, BLOCK, 0xFF),
    )


def test_the_rest_of_a_region_that_the_kernel_writes(tmp_path: Path) -> None:
    """It must be as before; what `after` holds there are holes."""
    toy = Toy()
    toy.before, toy.after = (data[:BLOCK] + b"\x22" * BLOCK for data in (toy.before, toy.after))
    assert verified(tmp_path / "a", toy).verdict == "same"
    toy.program = (ADD, f"put 0x{BASE + BLOCK + 5:x} 0")
    found = verified(tmp_path / "b", toy)
    assert found.captured is not None
    assert [one.offset for one in found.captured.differences] == [BLOCK + 5]
