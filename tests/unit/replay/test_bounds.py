"""A snapshot is data from a stranger: what no capture can have written is refused before anything uses it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError
from rocm_perf.render.json import encode
from rocm_perf.replay import bounds
from rocm_perf.replay.info import describe
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.plan import Options, plan_text
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.store import check, unpack
from tests.unit.replay.toys import (
    BASE,
    OTHER,
    Toy,
    forge,
    forge_launch,
    make_snapshot,
    rewrite_entry,
    rewrite_manifest,
)

REGION = f"memory/region_{BASE:x}.bin"
AFTER = f"after/region_{BASE:x}.bin"
VARIABLE: dict[str, object] = {"base": "0x5000", "size": 4, "kind": "global", "name": "calls"}


def test_a_forged_snapshot_reads_as_long_as_it_makes_sense(snap: Path) -> None:
    forge_launch(snap, dispatch=4)
    snapshot = read_snapshot(snap)
    assert (snapshot.dispatch.dispatch, check(snapshot)) == (4, 7)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "a\nb", "a\x1b[31m", "a//b", "."])
def test_no_name_leads_out_of_the_folder(snap: Path, name: str) -> None:
    files = json.loads((snap / "manifest.json").read_text())["files"]
    rewrite_manifest(snap, files={**files, name: files["kernarg.bin"]})
    with pytest.raises(InputError, match="damaged: its manifest lists"):
        read_snapshot(snap)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (REGION, {"same_as": REGION}),
        (REGION, {"same_as": "nothing"}),
        (REGION, {"same_as": "kernarg.bin"}),  # of another size and hash
        (REGION, {"sha256": ""}),
        (REGION, {"sha256": "0" * 63}),
        (REGION, {"size": -1}),
        (REGION, {"frames": []}),
        (REGION, {"frames": [100, 100]}),
        (REGION, {"frames": [-5]}),
        (REGION, {"frames": [1 << 40]}),  # would be read at once
        ("kernarg.bin", {"frames": [8]}),
        ("kernarg.bin", {"stored": "zstd", "frames": [8]}),  # only memory is unpacked
    ],
)
def test_entries_that_no_capture_writes(snap: Path, name: str, changes: dict[str, object]) -> None:
    rewrite_entry(snap, name, **changes)
    with pytest.raises(InputError, match=rf"snap is damaged: .*{name}"):
        read_snapshot(snap)


def test_files_that_refer_to_each_other(snap: Path) -> None:
    files = json.loads((snap / "manifest.json").read_text())["files"]
    other = f"memory/region_{OTHER:x}.bin"
    own = {key: files[REGION][key] for key in ("sha256", "size")}
    loop = {REGION: {**own, "same_as": other}, other: {**own, "same_as": REGION}}
    rewrite_manifest(snap, files={**files, **loop})
    with pytest.raises(InputError, match="should be the same as"):
        read_snapshot(snap)


@pytest.mark.parametrize("name", [REGION, AFTER, "kernarg.bin"])
@pytest.mark.parametrize("size", [7, 1 << 42])
def test_a_size_that_is_not_the_regions(snap: Path, name: str, size: int) -> None:
    """4 TiB would keep `info` at work for hours."""
    rewrite_entry(snap, name, size=size, stored="raw", frames=[])
    with pytest.raises(InputError, match=rf"{name} holds {size} bytes of"):
        read_snapshot(snap)


def test_sizes_that_no_screen_can_show(snap: Path) -> None:
    rewrite_manifest(snap, raw_bytes=10**400)
    with pytest.raises(InputError, match="impossible sizes"):
        read_snapshot(snap)


@pytest.mark.parametrize("size", [0, 16])
def test_arguments_of_another_size(snap: Path, size: int) -> None:
    forge_launch(snap, kernarg={"size": size, "address": None}, parameters=[])
    with pytest.raises(InputError, match=rf"kernarg\.bin holds 8 bytes of {size}"):
        read_snapshot(snap)


def test_a_launch_without_arguments(snap: Path) -> None:
    (snap / "kernarg.bin").write_bytes(b"")
    rewrite_entry(snap, "kernarg.bin", size=0, sha256=hashlib.sha256(b"").hexdigest())
    forge_launch(snap, kernarg={"size": 0, "address": None}, parameters=[])
    check(read_snapshot(snap))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"base": hex(BASE + 4096), "size": 10}, "overlap"),
        ({"base": "0x9000000", "size": 0}, "no such region"),
        ({"base": "0x9000000", "size": 64, "changed": [[60, 8]]}, "no such region"),
        ({"base": "0x9000000", "size": 64, "changed": [[0, 8], [4, 8]]}, "no such region"),
        ({"base": "0x9000000", "size": 64, "changed": [[8, 8], [0, 8]]}, "no such region"),
        ({"base": "0x9000000", "size": 64, "changed": [[-8, 8]]}, "no such region"),
        ({"base": "0x100000", "size": 64}, "no such region"),  # its reservation would begin at 0
        ({"base": hex((1 << 57) - 1), "size": 64}, "no such region"),
        ({"base": "0x9000000", "size": 1 << 62}, "no such region"),
        (
            {"base": 1 << 64, "size": 64},
            r"memory_regions\.json is damaged: 18446744073709551616 is not an address",
        ),
        ({"base": "-5", "size": 64}, "is not an address"),
        ({"base": "zz", "size": 64}, r"memory_regions\.json is damaged: 'zz' is not an address"),
        ({**VARIABLE, "name": ""}, "not the name of a variable"),
        ({**VARIABLE, "name": "a b"}, "not the name of a variable"),
        ({**VARIABLE, "name": "a\ndump 0x10 4 /x"}, "not the name of a variable"),
        ({**VARIABLE, "name": "a\x1b[31m"}, "not the name of a variable"),
        ({**VARIABLE, "base": 0}, "no such region"),
    ],
)
def test_impossible_regions(snap: Path, entry: dict[str, object], words: str) -> None:
    regions = json.loads((snap / "memory_regions.json").read_text())["regions"]
    forge(snap, "memory_regions.json", {"version": 1, "regions": [*regions, entry]})
    with pytest.raises(InputError, match=words):
        read_snapshot(snap)


def test_more_memory_than_any_gpu_has(snap: Path) -> None:
    size = 1 << 41
    regions = [{"base": hex((4 + index) << 41), "size": size} for index in range(3)]
    forge(snap, "memory_regions.json", {"version": 1, "regions": regions})
    with pytest.raises(InputError, match=r"no GPU has the 6\d+ bytes"):
        read_snapshot(snap)


def test_files_that_are_larger_than_any_gpus_memory(snap: Path) -> None:
    files = json.loads((snap / "manifest.json").read_text())["files"]
    extra = {"sha256": "0" * 64, "size": 9 << 40}
    rewrite_manifest(snap, files={**files, "extra.bin": extra})
    with pytest.raises(InputError, match="larger than any GPU's memory"):
        read_snapshot(snap)


def test_far_too_many_regions(snap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_REGIONS", 1)
    with pytest.raises(InputError, match="it has 2 regions"):
        read_snapshot(snap)


def test_a_variable_whose_address_nobody_knows_is_listed(tmp_path: Path) -> None:
    unknown: dict[str, object] = {**VARIABLE, "base": "0x0", "saved": False, "reason": "not told"}
    snapshot = make_snapshot(tmp_path, Toy(extra=[unknown]))
    assert snapshot.manifest.uncovered == ("global memory at 0x0, 4 B: not told",)


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "a b"},
        {"kernel": ""},
        {"kernel": "a\x1b[31m"},
        {"code_object": "/etc/passwd"},
        {"code_object": "../x"},
        {"device": {"gfx": "gfx942\ndump 0x510000000000 160000 /victim"}},
        {"device": {"gfx": "gfx942 x"}},
        {"device": {"memory_bytes": 10**400}},
        {"device": {"index": -1}},
        {"grid": [0, 1, 1]},
        {"grid": [65, 1, 1]},  # NVIDIA's come in whole blocks
        {"grid": [16 << 31, 1, 1]},
        {"grid": [64, 65536, 1]},
        {"vendor": "AMD", "grid": [1 << 32, 1, 1]},
        {"vendor": "AMD", "grid": [64, 1 << 40, 1]},
        {"grid": [65536, 1, 1], "workgroup": [65536, 1, 1]},
        {"grid": [64, 64, 64], "workgroup": [32, 32, 2]},
        {"workgroup": [-16, -1, 1]},
        {"dynamic_lds_bytes": -1},
        {"dynamic_lds_bytes": 1 << 32},
        {"group_segment_bytes": -1},
        {"private_segment_bytes": -1},
        {"private_segment_bytes": 1 << 64},
        {"dispatch": -1},
        {"launch": 1 << 64},
        {"attributes": {"cluster": [0, 1, 1]}},
        {"attributes": {"cluster": [1 << 32, 1, 1]}},
        {"kernarg": {"size": -1}},
        {"kernarg": {"size": 1 << 20}},
        {"kernarg": {"size": 8, "address": "zz"}},
        {"kernarg": {"size": 8, "address": 1 << 64}},
        {"parameters": [{"offset": 4, "size": 8}]},
        {"parameters": [{"offset": -8, "size": 8}]},
    ],
)
def test_impossible_launches(snap: Path, change: dict[str, object]) -> None:
    forge_launch(snap, **change)
    with pytest.raises(InputError, match=r"dispatch\.json is damaged"):
        read_snapshot(snap)


@pytest.mark.parametrize(
    "change",
    [
        {"grid": [256 * ((1 << 31) - 1), 65535, 65535], "workgroup": [256, 1, 1]},
        {"grid": [2, 2, 2 * 64], "workgroup": [1, 1, 64]},
        {"vendor": "AMD", "grid": [(1 << 32) - 1, 1, 1], "workgroup": [1024, 1, 1]},
        {"attributes": {"cluster": [16, 1, 1]}},
        {"dynamic_lds_bytes": 228 << 10, "private_segment_bytes": 512 << 10},
        {"launch": None},
    ],
)
def test_what_hardware_can_run_is_allowed(snap: Path, change: dict[str, object]) -> None:
    forge_launch(snap, **change)
    read_snapshot(snap)


def test_a_code_object_called_zst_is_not_unpacked(snap: Path, tmp_path: Path) -> None:
    files = json.loads((snap / "manifest.json").read_text())["files"]
    (snap / "kernel.cubin").rename(snap / "kernel.zst")
    files["kernel.zst"] = files.pop("kernel.cubin")
    rewrite_manifest(snap, files=files)
    forge_launch(snap, code_object="kernel.zst")
    (tmp_path / "work").mkdir()
    assert unpack(read_snapshot(snap), tmp_path / "work")["kernel.zst"] == snap / "kernel.zst"


def test_a_code_object_that_is_far_too_large(snap: Path) -> None:
    os.truncate(snap / "kernel.cubin", 1 << 40)
    rewrite_entry(snap, "kernel.cubin", size=1 << 40)
    with pytest.raises(InputError, match=r"kernel\.cubin is far too large"):
        read_snapshot(snap)


def test_a_message_quotes_little_of_a_file(snap: Path) -> None:
    forge_launch(snap, vendor="x" * 5000)
    with pytest.raises(InputError) as caught:
        read_snapshot(snap)
    assert len(str(caught.value)) < 500


WEIRD: list[object] = [
    0, -1, 7, 1 << 32, 1 << 62, 1 << 64, 10**400, 1.5, None, True, [], {}, [1], [0, 0, 0], [[0, 65536], [0, 65536]],
    "", "a b", "a\nb", "\x1b[31m", "zz", "0x10", "-0x10", "../x", "/etc/passwd", "\u2028", "AMD", "zstd", "kernarg.bin",
    "global", REGION,
]  # fmt: skip


@given(
    name=st.sampled_from(["manifest.json", "dispatch.json", "memory_regions.json"]),
    weird=st.sampled_from(WEIRD),
    data=st.data(),
)
def test_whatever_it_says_it_is_refused_or_makes_a_plan(
    made: Snapshot, tmp_path_factory: pytest.TempPathFactory, name: str, weird: object, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("weird")
    snap = Path(shutil.copytree(made.folder, folder / "snap"))
    content = json.loads((snap / name).read_text())
    place = data.draw(st.sampled_from(list(places(content))))
    content = replaced(content, place, weird)
    if name == "manifest.json":
        rewrite_manifest(snap, **content)
    else:
        forge(snap, name, content)
    for line in dumps_of(snap, folder):
        assert f" {folder}/dump/region_" in line
    shutil.rmtree(folder)


def dumps_of(snap: Path, work: Path) -> list[str]:
    """What the runner would write; nothing where the snapshot is refused. Any other exception fails the test."""
    try:
        snapshot = read_snapshot(snap)
        encode(describe(snapshot))
        text = plan_text(snapshot, unpack(snapshot, work), work, Options(dumps=snapshot.saved))
    except InputError:
        return []
    return [line for line in text.splitlines() if line.startswith("dump")]


def places(content: object) -> Iterator[tuple[str | int, ...]]:
    """Of everything below the top of a JSON file."""
    inner = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, value in inner:
        yield (key,)
        yield from ((key, *place) for place in places(value))


def replaced(content: Any, place: tuple[str | int, ...], value: object) -> Any:
    if not place:
        return value
    content = dict(content) if isinstance(content, dict) else list(content)
    content[place[0]] = replaced(content[place[0]], place[1:], value)
    return content
