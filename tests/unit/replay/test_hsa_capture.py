"""The AMD tools library on a stand-in HSA runtime: what is captured, what is refused, what the program notices."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compile_amd import Compiler
from tests.native.hsa_standin.harness import NEWER_CAPTURE, Bench, build

pytestmark = pytest.mark.native

COUNT = 40000


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = build(request.config)
    compiler = Compiler.of_this_run(tmp_path_factory)
    one, two = (compiler.compile(name, "gfx942").path for name in ("replay_one", "replay_two"))
    return Bench(folder, one, two)


def softmaxed(rounds: int) -> list[float]:
    """Neither the kernel's order nor its precision: good to five digits."""
    values = [float(i % 7) for i in range(COUNT)]
    for _ in range(rounds):
        total = sum(2**value for value in values)
        values = [2**value / total for value in values]
    return values


def floats(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def uints(data: bytes) -> set[int]:
    return set(struct.unpack(f"<{len(data) // 4}I", data))


def undisturbed(bench: Bench, scenario: str, **switches: str) -> str:
    ran = bench.run(scenario, bench.environment(**switches))
    assert ran.status == 0, ran.stderr
    return ran.stdout


def test_the_third_launch_of_an_in_place_kernel(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("softmax", "softmax", tmp_path, settings={"DISPATCH": "3"})
    assert ran.stdout == undisturbed(bench, "softmax")
    assert draft.account["state"] == "captured"
    (changed,) = draft.changed
    assert floats(draft.before(changed)) == pytest.approx(softmaxed(2), rel=1e-4)
    assert floats(draft.after(changed)) == pytest.approx(softmaxed(3), rel=1e-4)
    dispatch = draft.dispatch
    assert (dispatch["kernel"], dispatch["name"]) == ("_Z7softmaxPfi", "softmax(float*, int)")
    assert (dispatch["dispatch"], dispatch["grid"], dispatch["workgroup"]) == (3, [COUNT, 1, 1], [64, 1, 1])
    assert dispatch["device"]["gfx"] == "gfx942"
    assert (draft.folder / "kernel.hsaco").read_bytes() == bench.one.read_bytes()
    assert (draft.folder / "kernarg.bin").read_bytes() == struct.pack("<QI", int(changed["base"], 16), COUNT)


@pytest.mark.parametrize("one_by_one", ["0", "1"])
def test_one_packet_of_a_batch(bench: Bench, tmp_path: Path, one_by_one: str) -> None:
    """Those before it have run when it is saved, slow as they are, and those behind it have not."""
    switches = {"KERNEL_MS": "60", "ONE_BY_ONE": one_by_one}
    draft, ran = bench.capture("batch", "add", tmp_path, settings={"DISPATCH": "3"}, **switches)
    assert ran.stdout == undisturbed(bench, "batch")
    (changed,) = draft.changed
    assert uints(draft.before(changed)) == {1 + 10 + 200}
    assert uints(draft.after(changed)) == {1 + 10 + 200 + 3000}
    assert draft.dispatch["dynamic_lds_bytes"] == 256


def test_other_queues_are_empty_before_anything_is_saved(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("queues", "softmax", tmp_path, KERNEL_MS="150")
    assert ran.stdout == undisturbed(bench, "queues", KERNEL_MS="1")
    (changed,) = draft.changed  # had the others still run, their memory would have changed too
    assert floats(draft.after(changed)) == pytest.approx(softmaxed(1), rel=1e-4)
    finished = [uints(draft.before(region)) for region in draft.saved if region["size"] == 4 * COUNT]
    assert {100} in finished
    assert {101} in finished
    assert {102} in finished
    assert draft.account["seconds"]["drain"] > 0.1


def test_a_queue_whose_program_keeps_the_write_index(bench: Bench, tmp_path: Path) -> None:
    """A packet of ours in it would be overwritten, or the program's next one lost: then it waits for ever."""
    draft, ran = bench.capture("single-producer", "softmax", tmp_path, KERNEL_MS="150")
    assert ran.stdout == undisturbed(bench, "single-producer")
    assert draft.account["state"] == "captured"
    (changed,) = draft.changed
    assert floats(draft.after(changed)) == pytest.approx(softmaxed(1), rel=1e-4)
    assert {200} in [uints(draft.before(region)) for region in draft.saved if region["kind"] == "device"]
    assert draft.account["seconds"]["drain"] > 0.1


def test_a_kernel_that_needs_another_queue_ends_the_capture_and_not_the_program(
    bench: Bench, tmp_path: Path
) -> None:
    draft, ran = bench.capture(
        "needs-other", "softmax", tmp_path, settings={"DRAIN_S": "0.5"}, NEEDS_OTHER="1"
    )
    assert ran.stdout == undisturbed(bench, "needs-other", NEEDS_OTHER="1")
    assert draft.account["state"] == "failed"
    assert "did not end within 0.5 s" in draft.account["reason"]


def test_threads_that_go_on_launching(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("threads", "add", tmp_path, settings={"DISPATCH": "150"}, KERNEL_MS="4")
    assert ran.stdout == undisturbed(bench, "threads")
    (changed,) = draft.changed  # kernels of the others waited meanwhile
    (before,), (after,) = uints(draft.before(changed)), uints(draft.after(changed))
    assert after == before + 1


@pytest.mark.parametrize("scenario", ["copying", "copying-rect"])
@pytest.mark.parametrize("table", ["5", "6"])
def test_copies_under_way_are_awaited(bench: Bench, tmp_path: Path, scenario: str, table: str) -> None:
    draft, ran = bench.capture(scenario, "softmax", tmp_path, COPY_MS="300", TABLE=table)
    assert ran.stdout == undisturbed(bench, scenario)
    (changed,) = draft.changed
    assert floats(draft.after(changed)) == pytest.approx(softmaxed(1), rel=1e-4)
    (copied,) = [one for one in draft.saved if one["kind"] == "device" and one != changed]
    assert set(floats(draft.before(copied))) == {2.0}
    assert not [words for words in draft.account["not_seen"] if "under way" in words]


def test_signals_that_are_destroyed_while_copies_are_awaited(bench: Bench, tmp_path: Path) -> None:
    """The stand-in ends a program in which a destroyed signal is used."""
    draft, ran = bench.capture("destroying-signals", "softmax", tmp_path)
    assert ran.stdout == undisturbed(bench, "destroying-signals"), ran.stderr
    assert draft.account["state"] == "captured"
    assert not [words for words in draft.account["not_seen"] if "under way" in words]


@pytest.mark.parametrize("table", ["5", "6"])
def test_memory_that_another_thread_fills(bench: Bench, tmp_path: Path, table: str) -> None:
    draft, ran = bench.capture("filling", "softmax", tmp_path, KERNEL_MS="100", TABLE=table)
    assert ran.stdout == undisturbed(bench, "filling")
    (changed,) = draft.changed  # the other's fills waited meanwhile
    assert floats(draft.after(changed)) == pytest.approx(softmaxed(1), rel=1e-4)


def test_memory_that_another_thread_frees(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("freeing", "softmax", tmp_path, settings={"DISPATCH": "3"})
    assert ran.stdout == undisturbed(bench, "freeing")
    assert draft.account["state"] == "captured"
    (changed,) = draft.changed
    assert floats(draft.after(changed)) == pytest.approx(softmaxed(3), rel=1e-4)


def test_a_queue_that_never_becomes_empty_ends_the_capture_and_not_the_program(
    bench: Bench, tmp_path: Path
) -> None:
    draft, ran = bench.capture("queues", "softmax", tmp_path, settings={"DRAIN_S": "0.3"}, KERNEL_MS="1500")
    assert ran.stdout == undisturbed(bench, "queues")
    assert draft.account["state"] == "failed"
    assert "did not become empty" in draft.account["reason"]


def test_the_code_object_that_has_the_kernel(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("codes", "both", tmp_path)
    assert (draft.folder / "kernel.hsaco").read_bytes() == bench.two.read_bytes()
    assert uints(draft.after(draft.changed[0])) == {5 + 1 + 6}


def test_memory_of_another_gpu(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("two-gpus", "both", tmp_path, GPUS="2")
    assert draft.dispatch["device"]["index"] == 1
    by_content = {
        frozenset(uints(draft.before(one))): one["device"] for one in draft.saved if one["size"] == 4 * COUNT
    }
    assert by_content[frozenset({7})] == 0
    assert by_content[frozenset({8})] == 1


def test_a_thousand_allocations(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("many", "scale", tmp_path)
    buffers = [region for region in draft.saved if region["kind"] == "device"]
    assert len(buffers) == 1000
    assert {int(floats(draft.before(one))[0]) for one in buffers} == set(range(1000))


def test_pointers_inside_structures_are_followed(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("structures", "chase", tmp_path, settings={"REACHABLE_ONLY": "1"})
    kinds = [region["kind"] for region in draft.saved]
    assert kinds.count("device") == 3 + 3 + 1  # nodes, their values, the sum; one more buffer is out of reach


def test_all_memory_is_saved_unless_asked(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("structures", "chase", tmp_path)
    assert [region["kind"] for region in draft.saved].count("device") == 3 + 3 + 1 + 1


def test_variables_of_the_module(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("variables", "scale", tmp_path, settings={"DISPATCH": "3"})
    globals_ = {region["name"]: region for region in draft.saved if region["kind"] == "global"}
    assert set(globals_) == {"factor", "calls"}
    assert floats(draft.before(globals_["factor"])) == [3.0]
    assert struct.unpack("<I", draft.before(globals_["calls"])) == (2,)
    assert struct.unpack("<I", draft.after(globals_["calls"])) == (3,)


def test_mapped_memory(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("mapped", "softmax", tmp_path)
    (changed,) = draft.changed
    assert (changed["kind"], changed["base"], changed["size"]) == ("mapped", "0x530000000000", 2 << 20)
    assert changed["changed"] == [[0, 3 << 16]]


def test_arguments_in_device_memory(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("kernarg-on-device", "softmax", tmp_path)
    assert ran.stdout == undisturbed(bench, "kernarg-on-device")
    base = int(draft.changed[0]["base"], 16)
    assert (draft.folder / "kernarg.bin").read_bytes() == struct.pack("<QI", base, COUNT)


@pytest.mark.parametrize(
    ("scenario", "kind"),
    [
        ("registered", "host"),
        ("pinned", "host"),
        ("shared", "managed"),
        ("shared-page", "managed"),
        ("ipc", "ipc"),
    ],
)
def test_an_argument_that_points_into_uncovered_memory_is_refused(
    bench: Bench, tmp_path: Path, scenario: str, kind: str
) -> None:
    draft, ran = bench.capture(scenario, "softmax", tmp_path)
    assert ran.stdout == undisturbed(bench, scenario)
    assert draft.account["state"] == "refused"
    assert f"points into {kind} memory" in draft.account["reason"]
    assert not (draft.folder / "memory_regions.json").exists()


def test_uncovered_memory_may_be_allowed_and_is_listed(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("registered", "softmax", tmp_path, settings={"ALLOW_UNCOVERED": "1"})
    assert draft.account["state"] == "captured"
    (listed,) = [region for region in draft.regions if region["kind"] == "host"]
    assert (listed["saved"], listed["reason"]) == (False, "host memory registered with the GPU")


def test_no_kernel_of_that_name(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("codes", "gemm", tmp_path)
    assert ran.status == 0
    account = draft.account
    assert (account["state"], account["launches"], account["matched"]) == ("no-match", 2, 0)
    assert account["names_seen"] == {
        "add(unsigned int*, unsigned int, unsigned int)": 1,
        "both(unsigned int const*, unsigned int const*, unsigned int*, unsigned int)": 1,
    }


def test_fewer_dispatches_than_asked_for(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path, settings={"DISPATCH": "6"})
    assert (draft.account["state"], draft.account["matched"]) == ("no-match", 5)


def test_stopping_after_the_capture(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("softmax", "softmax", tmp_path, settings={"STOP_AFTER": "1"})
    assert (ran.status, ran.stdout) == (0, "")
    assert draft.account["state"] == "captured"


def test_without_outputs_nothing_is_said_to_change(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path, settings={"OUTPUTS": "0"})
    assert draft.account["state"] == "captured"
    assert draft.changed == []


@pytest.mark.parametrize("copies", ["2", "4", "7"])
def test_a_program_that_dies_in_the_middle_leaves_no_account(
    bench: Bench, tmp_path: Path, copies: str
) -> None:
    """The program copies its input and its arguments itself: later copies are the capture's."""
    draft, ran = bench.capture("softmax", "softmax", tmp_path, DIE_AFTER_COPIES=copies)
    assert ran.status == -9
    assert not (draft.folder / "capture.json").exists()


def test_registered_through_rocprofiler_register(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path, REGISTER="1")
    assert draft.account["state"] == "captured"


@pytest.mark.parametrize("table", ["5", "6"])
@pytest.mark.parametrize("library", [None, NEWER_CAPTURE])
def test_tables_of_other_generations_than_the_headers(
    bench: Bench, tmp_path: Path, table: str, library: str | None
) -> None:
    extra = {"library": library} if library else {}
    draft, ran = bench.capture("batch", "add", tmp_path, settings={"DISPATCH": "2"}, TABLE=table, **extra)
    assert ran.stdout == undisturbed(bench, "batch", TABLE=table)
    assert uints(draft.after(draft.changed[0])) == {1 + 10 + 200}


def test_queues_of_the_newer_call(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("described-queue", "softmax", tmp_path, library=NEWER_CAPTURE, TABLE="10")
    assert ran.status == 0
    assert draft.account["state"] == "captured"
    assert draft.account["not_seen"] == []


def test_queues_that_older_headers_cannot_see_are_told(bench: Bench, tmp_path: Path) -> None:
    draft, ran = bench.capture("described-queue", "softmax", tmp_path, TABLE="10")
    assert ran.status == 0
    assert draft.account["launches"] == 0
    assert "hsa_amd_queue_create" in draft.account["not_seen"][0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """256 KiB: room for the code, not for the memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    mounted = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], timeout=10, check=True)


@pytest.mark.parametrize("left_kib", [192, 8])
def test_a_full_disk_is_told_and_does_not_end_the_program(
    bench: Bench, small_disk: Path, left_kib: int
) -> None:
    """It is full when memory is saved, or before that, when the kernel's code is."""
    (small_disk / "others").write_bytes(bytes((256 - left_kib) << 10))
    draft, ran = bench.capture("many", "scale", small_disk)
    assert ran.stdout == undisturbed(bench, "many")
    assert draft.account["state"] == "failed"
    assert "No space left on device" in draft.account["reason"]
    assert [file.name for file in draft.folder.rglob("*") if file.is_file()] == ["capture.json"]


def test_a_missing_folder_does_not_end_the_program(bench: Bench, tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    environment = {
        **bench.environment(),
        "HSA_TOOLS_LIB": str(bench.folder / "librocm_perf_capture_hsa.so"),
        "ROCM_PERF_CAPTURE_DIR": str(missing),
    }
    ran = bench.run("softmax", environment)
    assert ran.status == 0
    assert ran.stdout == undisturbed(bench, "softmax")
    assert "cannot make" in ran.stderr


def test_drafts_name_their_process_and_command(bench: Bench, tmp_path: Path) -> None:
    draft, _ = bench.capture("softmax", "softmax", tmp_path)
    assert draft.dispatch["pid"] == int(draft.folder.name)
    assert draft.dispatch["command"] == bench.program("softmax")
