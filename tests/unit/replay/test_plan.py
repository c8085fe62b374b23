"""Plans: reservations hold every region and nothing twice; the text says what was asked for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import UsageError
from rocm_perf.replay.plan import GRANULES, Code, Options, Poison, Sizes, plan_text, reservations
from rocm_perf.replay.snapshot import Region, Snapshot
from tests.unit.replay.toys import BASE, OTHER, Toy, make_snapshot

GRANULE = GRANULES["AMD"]
SIZES = st.lists(st.tuples(st.integers(0, 3 * GRANULE), st.integers(1, 5 * GRANULE)), min_size=1, max_size=12)


def laid_out(gaps: list[tuple[int, int]]) -> list[Region]:
    """Regions one behind the other, with gaps."""
    regions, at = [], 0x7F0000000000
    for gap, size in gaps:
        regions.append(Region(base=at + gap, size=size, kind="device"))
        at += gap + size
    return regions


@given(SIZES)
def test_reservations(gaps: list[tuple[int, int]]) -> None:
    regions = laid_out(gaps)
    found = reservations(reversed(regions), GRANULE)
    assert found == reservations(regions, GRANULE)
    for base, size in found:
        assert base % GRANULE == size % GRANULE == 0
        inside = [one for one in regions if base <= one.base and one.end <= base + size]
        assert (
            inside[0].base < base + GRANULE
        )  # it begins in the first granule and ends in the last: nothing in vain
        assert inside[-1].end > base + size - GRANULE
    for region in regions:
        assert sum(base <= region.base and region.end <= base + size for base, size in found) == 1
    for (base, size), (behind, _) in pairwise(found):
        assert base + size < behind  # those that meet are one


def lines(snapshot: Snapshot, options: Options) -> list[str]:
    files = {name: Path("/s") / name for name in snapshot.manifest.files}
    return plan_text(snapshot, files, Path("/w"), options).splitlines()


def test_a_whole_plan(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path)
    options = Options(iterations=7, warmup=2, dumps=snapshot.changed, poison=(Poison(0x10, 4, 9),))
    assert lines(snapshot, options) == [
        "version 1",
        "mode run",
        "device 0",
        "isa sm_90",
        "reserve 0x7f0000000000 33554432",
        "reserve 0x7f0004000000 33554432",
        f"load 0x{BASE:x} 131072 0 /s/memory/region_{BASE:x}.bin",
        f"load 0x{OTHER:x} 131072 0 /s/memory/region_{OTHER:x}.bin",
        f"restore 0x{BASE:x} 65536 0 /s/memory/region_{BASE:x}.bin",
        "code captured /s/kernel.cubin",
        "kernel _Z5scalePf",
        "kernarg - 8 /s/kernarg.bin",
        "grid 64 1 1",
        "workgroup 16 1 1",
        "dynamic_lds 128",
        "group_segment 64",
        "private_segment 0",
        "cooperative 0",
        "cluster 1 1 1",
        "parameters 0:8",
        "warmup 2",
        "iterations 7",
        "recopy 1",
        "cold_cache 0",
        "launch 1",
        "poison 0x10 4 9",
        f"dump 0x{BASE:x} 131072 /w/dump/region_{BASE:x}.bin",
    ]


def test_a_reservation_needs_no_contents(tmp_path: Path) -> None:
    text = plan_text(make_snapshot(tmp_path), {}, tmp_path, Options(mode="reserve"))
    assert [line.split()[0] for line in text.splitlines()] == [
        "version",
        "mode",
        "device",
        "isa",
        "reserve",
        "reserve",
    ]


def test_options_reach_the_plan(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path)
    codes = (Code("A", Path("/a b.hsaco")), Code("B", Path("/b")))
    found = lines(
        snapshot, Options(codes=codes, recopy=False, cold_cache=True, launch=False, grid=(16, 1, 1))
    )
    assert {"code A /a b.hsaco", "code B /b", "recopy 0", "launch 0", "grid 16 1 1"} <= set(found)
    assert not [line for line in found if line.startswith(("restore", "code captured"))]
    (cold,) = (line for line in found if line.startswith("cold_cache"))
    assert int(cold.split()[1]) > 256 << 20  # the largest cache there is


def test_one_code_has_its_own_sizes_and_the_last_launch_other_contents(tmp_path: Path) -> None:
    codes = (Code("A", Path("/a")), Code("B", Path("/b"), Sizes((32, 1, 1), (8, 1, 1))))
    snapshot = make_snapshot(tmp_path)
    text = lines(snapshot, Options(codes=codes, swap={OTHER: Path("/other")}))
    assert "sizes B 32 1 1 8 1 1" in text
    assert not any(line.startswith("sizes A") for line in text)
    size = next(region.size for region in snapshot.regions if region.base == OTHER)
    assert f"swap 0x{OTHER:x} {size} 0 /other" in text


def test_without_outputs_everything_is_restored(tmp_path: Path) -> None:
    found = lines(make_snapshot(tmp_path, outputs=False), Options())
    assert f"restore 0x{OTHER:x} 131072 0 /s/memory/region_{OTHER:x}.bin" in found
    assert f"restore 0x{BASE:x} 131072 0 /s/memory/region_{BASE:x}.bin" in found


def test_arguments_lie_at_their_address_only_where_that_comes_back(tmp_path: Path) -> None:
    for place, (address, expected) in enumerate([
        (OTHER + 64, f"0x{OTHER + 64:x}"),
        (OTHER + 131072 - 7, "-"),  # reaches over the end
        (0x1000, "-"),
    ]):  # fmt: skip
        snapshot = make_snapshot(tmp_path / str(place), Toy(kernarg_address=hex(address)))
        assert f"kernarg {expected} 8 /s/kernarg.bin" in lines(snapshot, Options())


def test_variables_go_by_name(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path, Toy(variable=b"\1\0\0\0", variable_after=b"\2\0\0\0"))
    found = lines(snapshot, Options(dumps=snapshot.changed))
    assert "global calls 4 /s/memory/region_5000.bin" in found
    assert "dump_global calls 4 /w/dump/region_5000.bin" in found
    assert not [line for line in found if line.startswith(("load 0x5000", "reserve 0x0", "restore 0x5000"))]


def test_regions_that_were_not_saved_are_not_mapped(tmp_path: Path) -> None:
    extra: dict[str, object] = {"base": "0x90000000", "size": 4096, "kind": "host", "saved": False}
    found = lines(make_snapshot(tmp_path, Toy(extra=[extra])), Options())
    assert not [line for line in found if "0x90000000" in line]


def test_a_path_cannot_add_an_instruction(tmp_path: Path) -> None:
    """The runner would write to the file that the second line names."""
    snapshot = make_snapshot(tmp_path)
    evil = Path("/code\ndump 0x7f0000010000 64 /victim")
    with pytest.raises(UsageError, match="line break in it") as caught:
        lines(snapshot, Options(codes=(Code("A", evil),)))
    assert "rename" in str(caught.value)
    files = {name: evil / name for name in snapshot.manifest.files}
    with pytest.raises(UsageError, match="line break"):
        plan_text(snapshot, files, Path("/w"), Options())
