"""The AMD runner on a stand-in HSA runtime: captured kernels run again at their own addresses, and what stops them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.hsa_standin.harness import Bench, Draft, Ran, differing, plan, reservations
from tests.unit.replay.test_hsa_capture import bench, uints

pytestmark = pytest.mark.native

__all__ = ["bench"]  # the fixture


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    folder = tmp_path / "dumps"
    folder.mkdir()
    return folder


def replayed(bench: Bench, draft: Draft, dumps: Path, *extra: str, **switches: str) -> Ran:
    return bench.replay(plan(draft, dumps, *extra), dumps.parent, **switches)


@pytest.mark.parametrize(
    "case",
    [
        ("softmax", "softmax", "3", "1"),
        ("kernarg-on-device", "softmax", "3", "1"),
        ("batch", "add", "3", "1"),
        ("queues", "softmax", "1", "1"),
        ("codes", "both", "1", "1"),
        ("two-gpus", "both", "1", "2"),
        ("many", "scale", "1", "1"),
        ("structures", "chase", "1", "1"),
        ("variables", "scale", "3", "1"),
        ("mapped", "softmax", "1", "1"),
    ],
)
def test_a_replay_leaves_what_the_program_left(
    bench: Bench, tmp_path: Path, dumps: Path, case: tuple[str, str, str, str]
) -> None:
    scenario, kernel, number, gpus = case
    draft, _ = bench.capture(scenario, kernel, tmp_path, settings={"DISPATCH": number}, GPUS=gpus)
    assert draft.changed
    ran = replayed(bench, draft, dumps)
    assert (ran.status, ran.answer["state"]) == (0, "done"), ran
    assert differing(draft, dumps) == []
    assert all(one["exact"] for one in ran.answer["reservations"])


@pytest.mark.parametrize(
    ("control", "why"),
    [
        (["launch 0"], "no kernel"),
        (["grid 64 1 1"], "a smaller grid"),
        (["poison"], "poisoned and not launched"),
    ],
)
def test_controls_leave_something_else(
    bench: Bench, tmp_path: Path, dumps: Path, control: list[str], why: str
) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    (changed,) = draft.changed
    poison = [f"poison {changed['base']} {changed['size']} 0xa5", "launch 0"]
    ran = replayed(bench, draft, dumps, *(poison if control == ["poison"] else control))
    assert ran.status == 0
    assert differing(draft, dumps) == [changed["base"]], why


def test_iterations_begin_from_the_same_state(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("variables", "scale", tmp_path)
    ran = replayed(bench, draft, dumps, "iterations 5", "warmup 2", "recopy 1", "cold_cache 65536")
    assert differing(draft, dumps) == []
    assert len(ran.answer["samples_ns"]["A"]) == 5
    assert ran.answer["restored_bytes"] == sum(
        length for one in draft.changed if one["kind"] != "global" for _, length in one["changed"]
    )


def test_without_recopy_state_goes_on(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("batch", "add", tmp_path)
    replayed(bench, draft, dumps, "iterations 4", "recopy 0")
    assert uints((dumps / f"{int(draft.changed[0]['base'], 16):x}.bin").read_bytes()) == {1 + 4 * 10}


def test_time_is_the_devices(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    """The stand-in counts ticks of 10 ns; a kernel that takes 30 ms must say so in nanoseconds."""
    draft, _ = bench.capture("batch", "add", tmp_path)
    ran = replayed(bench, draft, dumps, KERNEL_MS="30")
    (sample,) = ran.answer["samples_ns"]["A"]
    assert 30e6 <= sample < 10e9


def test_code_objects_take_turns_in_every_order(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    ran = bench.replay(plan(draft, dumps, f"code B {bench.one}", "iterations 4"), tmp_path)
    assert "".join(ran.answer["order"]) == "ABBABAAB"
    ran = bench.replay(
        plan(draft, dumps, f"code B {bench.one}", f"code C {bench.one}", "iterations 6"), tmp_path
    )
    order = "".join(ran.answer["order"])
    rounds = {order[start : start + 3] for start in range(0, len(order), 3)}
    assert rounds == {"ABC", "ACB", "BAC", "BCA", "CAB", "CBA"}
    assert [len(samples) for samples in ran.answer["samples_ns"].values()] == [6, 6, 6]
    assert ran.answer["cache_bytes"] == 256 << 20


def test_reserve_check_maps_nothing(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    ran = bench.replay(plan(draft, dumps, mode="reserve"), tmp_path)
    assert (ran.status, ran.answer["state"]) == (0, "done")
    assert len(ran.answer["reservations"]) == len(reservations(draft))
    assert list(dumps.iterdir()) == []


@pytest.mark.parametrize("mode", ["reserve", "run"])
def test_another_address_stops_everything(bench: Bench, tmp_path: Path, dumps: Path, mode: str) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    ran = bench.replay(plan(draft, dumps, mode=mode), tmp_path, RELOCATE="1")
    assert (ran.status, ran.answer["state"]) == (2, "relocated")
    assert not any(one["exact"] for one in ran.answer["reservations"])
    assert list(dumps.iterdir()) == []


@pytest.mark.parametrize("mode", ["reserve", "run"])
def test_a_refused_reservation_stops_everything(bench: Bench, tmp_path: Path, dumps: Path, mode: str) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    base = reservations(draft)[1][0]
    ran = bench.replay(plan(draft, dumps, mode=mode), tmp_path, REFUSE=hex(base))
    assert (ran.status, ran.answer["state"]) == (1, "failed")
    assert [one["got"] is None for one in ran.answer["reservations"]] == [False, True]
    assert list(dumps.iterdir()) == []


def test_wanted_addresses_are_kept_from_the_runtime(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    """The stand-in takes an address of ours as it starts, unless the runner holds it."""
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    ran = replayed(bench, draft, dumps, SQUAT=hex(reservations(draft)[0][0]))
    assert ran.status == 0, ran


@pytest.mark.parametrize(
    "case",
    [
        ("isa gfx1100", {}, 12, "the snapshot is of gfx1100, this GPU is gfx942"),
        ("device 1", {}, 11, "no such device"),
        ("kernel _Z7missingPf", {}, 13, "has no kernel _Z7missingPf"),
        ("grid many 1 1", {}, 10, "'many' where a number belongs"),
        ("nonsense 1", {}, 10, "unknown line"),
        ("load 0x510000000000 64 0 /nonexistent/file", {}, 16, "/nonexistent/file"),
        ("load 0x510000000000 64 0 /dev/null", {}, 16, "ends too early"),
        ("dump 0x510000000000 64 /nonexistent/file", {}, 17, "/nonexistent/file"),
        ("dump 0x510000000000 64 /dev/full", {}, 17, "No space left"),
        ("iterations 1", {"MEMORY": "0x100000"}, 15, "bytes of device memory"),
        ("iterations 1", {"TABLE": "5", "NO_DEVICE": "1"}, 11, "no AMD GPU or driver"),
    ],
)
def test_each_failure_has_its_own_exit_code(
    bench: Bench, tmp_path: Path, dumps: Path, case: tuple[str, dict[str, str], int, str]
) -> None:
    change, switches, status, words = case
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    ran = replayed(bench, draft, dumps, change, **switches)
    assert (ran.status, ran.answer["state"]) == (status, "failed")
    assert words in ran.answer["error"]


def test_a_code_object_that_is_none(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    (tmp_path / "text.hsaco").write_text("not a code object")
    ran = bench.replay(plan(draft, dumps, code=tmp_path / "text.hsaco"), tmp_path)
    assert (ran.status, ran.answer["state"]) == (13, "failed")


def test_a_variable_that_new_code_has_not_stays_as_it_was(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("variables", "scale", tmp_path)
    (tmp_path / "gone").write_bytes(b"four")
    extra = (f"global gone 4 {tmp_path / 'gone'}", f"dump_global gone 4 {dumps / 'gone'}")
    ran = replayed(bench, draft, dumps, *extra)
    assert (ran.status, ran.answer["state"]) == (0, "done"), ran
    assert (dumps / "gone").read_bytes() == b"four"
    assert differing(draft, dumps) == []
    assert {one["name"] for one in ran.answer["variables"]} == {"factor", "calls"}


@pytest.mark.parametrize("size", [2, 1 << 20])
def test_a_variable_of_another_size_is_not_written(
    bench: Bench, tmp_path: Path, dumps: Path, size: int
) -> None:
    draft, _ = bench.capture("variables", "scale", tmp_path)
    (tmp_path / "other").write_bytes(b"x" * size)
    ran = replayed(bench, draft, dumps, f"global factor {size} {tmp_path / 'other'}")
    assert (ran.status, ran.answer["state"]) == (13, "failed")
    assert "the variable factor has 4 bytes in" in ran.answer["error"]
    assert f"but {size} in the snapshot" in ran.answer["error"]


def running(process: int) -> bool:
    """Not gone, and not a zombie that nobody has collected yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def has_runtime(process: int) -> bool:
    return b"libhsa-runtime64" in Path(f"/proc/{process}/maps").read_bytes()


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_runner_ends_with_the_process_that_started_it(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    path = tmp_path / "plan.txt"
    path.write_text("".join(f"{line}\n" for line in plan(draft, dumps)))
    runner = [str(bench.folder / "replay_hsa"), str(path)]
    code = f"import subprocess; one = subprocess.Popen({runner}); print(one.pid, flush=True); one.wait()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=bench.environment(KERNEL_MS="300000"),
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        wait_for(lambda: has_runtime(process))  # it has started itself again without randomisation by then
        assert running(process)
        parent.kill()
    wait_for(lambda: not running(process))


def test_no_runtime_on_this_machine(bench: Bench, tmp_path: Path, dumps: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    (bench_folder := tmp_path / "empty").mkdir()
    lonely = Bench(bench_folder, bench.one, bench.two)
    (bench_folder / "replay_hsa").symlink_to(bench.folder / "replay_hsa")
    ran = lonely.replay(plan(draft, dumps), tmp_path)
    assert ran.status == 11
