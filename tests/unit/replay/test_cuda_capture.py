"""The library that captures CUDA programs, on a stand-in driver: what is captured, what is refused, what is noticed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_perf.replay.finish import Making, finish
from tests.native.cuda_capture.cubins import cubin
from tests.native.cuda_capture.harness import ONE, Bench, build

pytestmark = pytest.mark.native

SANITISER = "CUDA_CAPTURE_SANITISER"
MIB = 1 << 20


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return build(request.config, tmp_path_factory.mktemp("cuda-capture"), os.environ.get(SANITISER, ""))


@pytest.fixture(scope="session")
def racing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """With the thread sanitiser, where the compiler has it."""
    folder = tmp_path_factory.mktemp("cuda-capture-racing")
    return build(request.config, folder, os.environ.get(SANITISER, "thread"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(argv, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_capture_is_a_whole_snapshot(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("plain", tmp_path, DISPATCH="2")
    assert ended.undisturbed
    assert (ended.account["state"], ended.account["bytes"]) == ("captured", MIB)
    (region,) = ended.regions
    assert region["changed"] == [[0, 64 * 1024]]
    assert (ended.number(region, "memory"), ended.number(region, "after")) == (1, 2)
    assert ended.folder
    snapshot = finish(ended.folder, tmp_path / "snap", Making(), lambda _: None)
    assert snapshot.dispatch.kernel == "increment"
    assert (tmp_path / "snap" / snapshot.stored_name("kernel.cubin")).exists()
    assert [region.size for region in snapshot.changed] == [MIB]


def test_nothing_that_matches(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("nothing_launched", tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "no-match"


def test_a_full_disk(bench: Bench, tmp_path: Path, small_disk: Path) -> None:
    ended = bench.run("much_memory", tmp_path, DIR=str(small_disk))
    assert ended.undisturbed
    assert ended.account["state"] == "failed"
    assert "No space left" in ended.account["reason"]
    assert ended.folder
    assert not list((ended.folder / "memory").iterdir())
    assert "host memory left: 0\n" in ended.stdout


@pytest.mark.skipif(SANITISER in os.environ, reason="sanitisers start threads their own way")
def test_a_system_without_more_threads(bench: Bench, tmp_path: Path) -> None:
    """One for the waiting, three of the six that write."""
    ended = bench.run("plain", tmp_path, threads=4)
    assert ended.undisturbed
    assert ended.account["state"] == "failed"
    assert "temporarily unavailable" in ended.account["reason"]
    assert "host memory left: 0\n" in ended.stdout


@pytest.mark.parametrize("scene", ["folder_gone", "folder_gone_unmatched"])
def test_a_folder_that_has_gone(bench: Bench, tmp_path: Path, scene: str) -> None:
    ended = bench.run(scene, tmp_path)
    assert ended.undisturbed
    assert "rocm-perf capture: cannot" in ended.stderr


@pytest.mark.parametrize("scene", ["work_waits", "launch_waits"])
def test_work_that_waits_for_a_held_thread(bench: Bench, tmp_path: Path, scene: str) -> None:
    begun = time.monotonic()
    ended = bench.run(scene, tmp_path, DRAIN_S="1")
    assert time.monotonic() - begun < 50  # not the 60 s that it would wait by itself
    assert ended.undisturbed
    assert ended.account["state"] == "failed"
    assert "did not end in time" in ended.account["reason"]


def test_the_default_stream_of_a_thread_that_is_recorded(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("per_thread_stream_recorded", tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "no-match"
    assert ended.account["not_seen"] == ["launches that match, but were only recorded into a graph: 1"]


def test_while_another_stream_is_recorded(bench: Bench, tmp_path: Path) -> None:
    """The first launch is left alone; the second comes after the recording, and is captured."""
    ended = bench.run("another_stream_recorded", tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "captured"
    assert ended.json("dispatch.json")["launch"] == 2
    assert "while another stream was recorded" in ended.account["not_seen"][0]


def test_a_recording_that_begins_at_the_same_moment(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("recording_begins_meanwhile", tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "failed"
    assert "recorded into a graph" in ended.account["reason"]


def test_a_launch_without_arguments(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("no_arguments", tmp_path)
    assert ended.undisturbed
    assert "refused by the driver: 1" in ended.stdout
    assert "no arguments" in ended.account["reason"]


def test_a_kernel_without_parameters(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("no_parameters", tmp_path, KERNEL="nothing")
    assert ended.undisturbed
    assert ended.account["state"] == "captured"
    assert ended.json("dispatch.json")["kernarg"]["size"] == 0
    assert ended.folder
    assert finish(ended.folder, tmp_path / "snap", Making(), lambda _: None).dispatch.kernel == "nothing"


@pytest.mark.parametrize("scene", ["two_modules", "one_module_unseen", "broken_code"])
def test_the_code_is_of_the_module_that_was_launched(bench: Bench, tmp_path: Path, scene: str) -> None:
    ended = bench.run(scene, tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "captured", ended.account
    assert ended.folder
    assert (ended.folder / "kernel.cubin").read_bytes() == ONE


def test_a_launch_does_not_take_code_of_another_module_for_its_own(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("unseen_module_and_another", tmp_path, DISPATCH="2")
    assert ended.undisturbed
    assert ended.account["state"] == "captured", ended.account
    assert ended.folder
    assert (ended.folder / "kernel.cubin").read_bytes() == ONE


def test_different_code_of_which_one_was_launched(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("two_modules_unseen", tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "failed"
    assert "several modules with different code define increment" in ended.account["reason"]


def test_a_grid_of_more_items_than_32_bits_count(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("large_grid", tmp_path)
    assert ended.undisturbed
    assert ended.json("dispatch.json")["grid"] == [1 << 32, 1, 1]


def test_a_variable_of_the_module(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("variable", tmp_path, code=cubin(["increment"], variables=["table"]))
    assert ended.undisturbed
    assert ended.account["state"] == "captured", ended.account
    assert [(region["kind"], region["name"]) for region in ended.regions] == [("global", "table")]


def test_what_the_arguments_reach(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("pointers", tmp_path, REACHABLE_ONLY="1")
    assert ended.undisturbed
    assert sorted(region["size"] for region in ended.regions) == [MIB, 2 * MIB]


@pytest.mark.parametrize(
    ("scene", "why"),
    [
        ("ipc", "ipc memory: another process owns it"),
        ("unseen_memory", "memory that was not seen when it was allocated"),
        ("mapped_twice", "it is mapped at two addresses"),
    ],
)
def test_memory_that_cannot_be_put_back(bench: Bench, tmp_path: Path, scene: str, why: str) -> None:
    ended = bench.run(scene, tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "refused"
    assert why in ended.account["reason"]


@pytest.mark.parametrize(
    ("scene", "kinds"),
    [
        ("free_in_flight", ["device"]),
        ("allocation_recorded", ["device"]),
        ("context_destroyed", ["device"]),
        ("handle_reused", ["mapped"]),
    ],
)
def test_memory_that_is_no_longer_what_it_was(
    bench: Bench, tmp_path: Path, scene: str, kinds: list[str]
) -> None:
    ended = bench.run(scene, tmp_path)
    assert ended.undisturbed
    assert ended.account["state"] == "captured", ended.account
    assert [region["kind"] for region in ended.regions] == kinds


def test_an_end_in_the_middle_of_it(racing: Bench, tmp_path: Path) -> None:
    ended = racing.run("exit_meanwhile", tmp_path)
    assert ended.status == 0, ended.stderr
    assert ended.account["state"] == "failed"
    assert "ended in the middle" in ended.account["reason"]


def test_an_argument_that_is_no_utf8(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("plain", tmp_path, b"caf\xe9")
    assert ended.undisturbed
    assert ended.account["state"] == "captured"
    assert ended.json("dispatch.json")["command"][-1] == "caf\N{REPLACEMENT CHARACTER}"


def test_threads_that_launch_and_allocate_meanwhile(racing: Bench, tmp_path: Path) -> None:
    ended = racing.run("threads", tmp_path)
    assert ended.undisturbed, ended.stderr
    assert ended.account["state"] == "captured"
    assert len(ended.regions) >= 5
