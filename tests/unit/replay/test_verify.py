"""Verification: the application's own result or not, and the controls that prove we would notice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.model.results.replay import Three, Verification
from rocm_perf.replay.plan import Code
from rocm_perf.replay.replayer import ready
from rocm_perf.replay.tolerance import Tolerance
from rocm_perf.replay.trial import truncated
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


def test_tolerance_is_only_for_what_is_not_deterministic(tmp_path: Path) -> None:
    """Two stretches: one noisy, one always wrong by little. The second is a difference."""
    toy = noisy(1e-6)
    toy.before = (
        floats(*range(1, COUNT + 1))
        + bytes(BLOCK - 4 * COUNT)
        + bytes(BLOCK)
        + floats(1.0)
        + bytes(BLOCK - 4)
    )
    toy.after = (
        floats(*range(2, COUNT + 2))
        + bytes(BLOCK - 4 * COUNT)
        + bytes(BLOCK)
        + floats(2.0)
        + bytes(BLOCK - 4)
    )
    toy.program = (*toy.program, f"stride 0x{BASE + 2 * BLOCK:x} 1 1.000001")
    found = verified(tmp_path, toy)
    assert found.verdict == "different"
    assert found.captured is not None
    assert [difference.offset // BLOCK for difference in found.captured.differences] == [2]


def test_a_loop_over_the_grid_makes_one_control_inconclusive(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(program=(f"stride 0x{BASE:x} {COUNT} 1",)))
    assert found.verdict == "same"
    assert outcomes(found) == [MUST, MUST, "inconclusive"]


def test_one_workgroup_cannot_be_halved(tmp_path: Path) -> None:
    found = verified(tmp_path, Toy(workgroup=(64, 1, 1)))
    assert (found.verdict, outcomes(found)) == ("same", [MUST, MUST, "inconclusive"])


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
    assert "calls" in found.reason


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


def test_the_rest_of_a_region_that_the_kernel_writes(tmp_path: Path) -> None:
    """It must be as before; what `after` holds there are holes."""
    toy = Toy()
    toy.before, toy.after = (data[:BLOCK] + b"\x22" * BLOCK for data in (toy.before, toy.after))
    assert verified(tmp_path / "a", toy).verdict == "same"
    toy.program = (ADD, f"put 0x{BASE + BLOCK + 5:x} 0")
    found = verified(tmp_path / "b", toy)
    assert found.captured is not None
    assert [one.offset for one in found.captured.differences] == [BLOCK + 5]
