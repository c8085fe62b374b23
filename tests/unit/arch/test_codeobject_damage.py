"""Whatever the bytes, reading a code object gives an answer or one sentence; in bounded time and memory."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.arch.codeobject.reader import read
from rocm_perf.errors import InputError
from tests.bundle_amd import bundle, compressed
from tests.compile_amd import Compiler
from tests.fuzz.mutate import mutate
from tests.properties import examples

SECONDS = 5.0


@pytest.fixture(scope="session")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    compiler = Compiler.of_this_run(tmp_path_factory)
    image = compiler.compile("vector_add", "gfx942").path.read_bytes()
    packed = bundle({"gfx942": image, "gfx1100": compiler.compile("vector_add", "gfx1100").path.read_bytes()})
    fatbin = tmp_path_factory.mktemp("damage") / "fatbin"
    fatbin.write_bytes(packed)
    library = compiler.host_library(fatbin.with_suffix(".so"), {".hip_fatbin": fatbin})
    return {
        "hsaco": image,
        "bundle": packed,
        "v1": compressed(packed, 1, "zlib"),
        "v3": compressed(packed, 3),
        "library": library.read_bytes(),
        "cubin": struct.pack("<18sH", b"\x7fELF\x02\x01\x01\x41\x08", 190) + image[20:],
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "input"


def refused(file: Path, data: bytes) -> str:
    """Why the bytes are not read; empty if they are."""
    file.write_bytes(data)
    begun = time.process_time()
    try:
        read(file)
    except InputError as error:
        said = str(error)
    else:
        said = ""
    assert time.process_time() - begun < SECONDS
    assert "\n" not in said
    assert len(said) < 400
    return said


@given(
    data=st.binary(max_size=300),
    magic=st.sampled_from([b"", b"\x7fELF\x02\x01", b"CCOB\x03\0\x01\0", b"\x50\xed\x55\xba"]),
)
@examples(times=4)
def test_arbitrary_bytes(file: Path, data: bytes, magic: bytes) -> None:
    refused(file, magic + data)


@given(
    name=st.sampled_from(["hsaco", "bundle", "v1", "v3", "library", "cubin"]), number=st.integers(0, 10**6)
)
@examples(times=8)
def test_changed_bytes(file: Path, seeds: dict[str, bytes], name: str, number: int) -> None:
    refused(file, mutate(seeds[name], Random(number)))


@given(
    name=st.sampled_from(["hsaco", "cubin"]),
    word=st.integers(0, 25 * 64 // 4 - 1) | st.integers(-12, -1),
    value=st.sampled_from([0, 1, 2, 3, 7, 11, 0x7F, 0xFFFF, 0xFFFF_FFFF, 0x7FFF_FFFF, 24]),
)
@examples(times=10)
def test_headers_that_make_no_sense(
    file: Path, seeds: dict[str, bytes], name: str, word: int, value: int
) -> None:
    """One word of the ELF header or of a section header becomes another."""
    data = bytearray(seeds[name])
    start = int.from_bytes(data[40:48], "little") + 4 * word if word >= 0 else 64 + 4 * word
    if start + 4 <= len(data):
        data[start : start + 4] = value.to_bytes(4, "little")
    refused(file, bytes(data))


@pytest.mark.parametrize("name", ["hsaco", "bundle", "v1", "v3", "library"])
def test_what_was_cut_off_says_so(file: Path, seeds: dict[str, bytes], name: str) -> None:
    whole = seeds[name]
    for share in (0.01, 0.1, 0.5, 0.7):
        assert refused(file, whole[: int(len(whole) * share)])
    assert not refused(file, whole)


def test_plain_mistakes(file: Path, tmp_path: Path) -> None:
    assert "is empty" in refused(file, b"")
    assert "GPU code in a known format" in refused(file, b"hello world, this is no code object\n" * 9)
    with pytest.raises(InputError, match="No such file"):
        read(tmp_path / "absent")
    with pytest.raises(InputError, match="directory"):
        read(tmp_path)


def test_a_bundle_that_unpacks_to_too_much(file: Path) -> None:
    assert "too much" in refused(file, compressed(b"x", 3, claimed=1 << 40))
    assert "unpacked size" in refused(file, compressed(bytes(50 << 20), 3, claimed=1000))
    assert "unpacked size" in refused(file, compressed(bytes(50 << 20), 2, "zlib", claimed=1000))


def test_a_bundle_with_too_many_or_overlapping_entries(file: Path, seeds: dict[str, bytes]) -> None:
    magic = b"__CLANG_OFFLOAD_BUNDLE__"
    assert "entries" in refused(file, struct.pack("<24sQ", magic, 1 << 40) + bytes(4096))
    entry = struct.pack("<QQQ", 0, 4000, 1) + b"g"
    assert "overlap" in refused(file, struct.pack("<24sQ", magic, 3) + 3 * entry + bytes(4096))


def _with_note(image: bytes, note: bytes) -> bytes:
    """The image with other kernel metadata, in the room of the old."""
    start = image.index(b"amdhsa.kernels") - 2
    length = int.from_bytes(image[start - 16 : start - 12], "little")
    assert len(note) <= length
    return image[:start] + note.ljust(length, b"\0") + image[start + length :]


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (b"\x81\xaeamdhsa.kernels\xdd\xff\xff\xff\xff", "Expected `object`"),
        (b"\x81\xaeamdhsa.kernels\x01", "Expected `array`"),
        (b"\x91" * 600, "Expected `object`"),
        (b"\x81\xa1x" + b"\x91" * 590, "metadata"),
        (
            msgspec.msgpack.encode(
                {"amdhsa.kernels": [{".name": "k", ".symbol": "k.kd", ".wavefront_size": -1}]}
            ),
            ">= 1",
        ),
        (msgspec.msgpack.encode({"amdhsa.kernels": [{".name": "k"}]}), "missing required field"),
    ],
)
def test_metadata_that_makes_no_sense(file: Path, seeds: dict[str, bytes], note: bytes, message: str) -> None:
    said = refused(file, _with_note(seeds["hsaco"], note))
    assert message in said
    assert "kernel metadata" in said


def test_section_headers_beyond_the_end(file: Path, seeds: dict[str, bytes]) -> None:
    data = bytearray(seeds["hsaco"])
    data[60:62] = b"\xff\xff"
    assert "65,535 section headers" in refused(file, bytes(data))


def test_names_that_do_not_end(file: Path) -> None:
    """60,000 sections that all want the same name of a megabyte."""
    count, size = 60_000, 1 << 20
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 224, 1, 0, 0, 64, 0x4C, 64, 0, 0, 64, count, 1
    )
    section = struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 64 + 64 * count, size, 0, 0, 0, 0)
    assert "do not end" in refused(file, header + section * count + b"n" * size)


def test_sections_that_overlap(file: Path) -> None:
    """Many notes that are all the same bytes of the file."""
    count, size = 8_000, 1 << 20
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 224, 1, 0, 0, 64, 0x4C, 64, 0, 0, 64, count, 1
    )
    names = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, 1, 0, 0, 0, 0)
    note = struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, 64 + 64 * count, size, 0, 0, 0, 0)
    assert "overlap" in refused(file, header + names * 2 + note * (count - 2) + bytes(size))
