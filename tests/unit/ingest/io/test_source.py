"""Files as they lie on disk: every container gives the same bytes, damage is said, bombs are refused."""

from __future__ import annotations

import errno
import gzip
import io
import os
import random
import resource
import struct
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.ingest.io import archive
from rocm_perf.ingest.io import source as module
from rocm_perf.ingest.io.source import Source, sources_of
from rocm_perf.ingest.io.zstd_frames import FrameWatch
from tests.fuzz.containers import zeros_as_bzip2, zeros_as_lzma, zip_claiming

NOISE = random.Random(7).randbytes(3000)
TEXT = NOISE + b"kernel," * 5000 + NOISE


def _zip(content: bytes, member: str = "run/trace.csv", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr(member, content)
    return packed.getvalue()


def _zstd(content: bytes, *, checksum: bool = True, size: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=size).compress(content)


def _stored(tmp_path: Path, data: bytes) -> Path:
    file = tmp_path / "stored"
    file.write_bytes(data)
    return file


def _source(tmp_path: Path, data: bytes) -> Source:
    (source,) = sources_of(_stored(tmp_path, data))
    return source


WHOLE = {
    "plain": TEXT,
    "gzip": gzip.compress(TEXT),
    "gzip of two members": gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:]),
    "gzip with padding": gzip.compress(TEXT) + bytes(512),
    "zstd": _zstd(TEXT),
    "zstd without checksum and size": _zstd(TEXT, checksum=False, size=False),
    "zstd of two frames": _zstd(TEXT[:999]) + _zstd(TEXT[999:]),
    "zstd as pzstd writes it": b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + _zstd(TEXT),
    "zip": _zip(TEXT),
    "zip, stored": _zip(TEXT, method=zipfile.ZIP_STORED),
    "zip, bzip2": _zip(TEXT, method=zipfile.ZIP_BZIP2),
    "zip, LZMA": _zip(TEXT, method=zipfile.ZIP_LZMA),
    "zip, from here": _zip(TEXT, "./run/trace.csv"),
    "gzip in a zip": _zip(gzip.compress(TEXT), "trace.csv.gz"),
    "zstd in a zip": _zip(_zstd(TEXT), "trace.csv.zst"),
}


@pytest.mark.parametrize("chunk", [5, 4 << 20], ids=["tiny chunks", "usual chunks"])
@pytest.mark.parametrize("kind", WHOLE)
def test_every_container_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, chunk: int
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", chunk)
    source = _source(tmp_path, WHOLE[kind])
    content = source.read()
    assert (content.data == TEXT, content.damage) == (True, None)
    assert source.head(100) == TEXT[:100]
    assert source.head(len(TEXT) + 5) == TEXT
    with source.local_file() as plain:
        assert plain.read_bytes() == TEXT


def test_the_temporary_file_is_gone_afterwards(tmp_path: Path) -> None:
    packed = _source(tmp_path, gzip.compress(TEXT))
    with packed.local_file() as plain:
        assert plain != packed.path
    assert not plain.exists()


@pytest.mark.parametrize(
    "kind", ["gzip", "zstd", "zstd without checksum and size", "gzip in a zip", "zstd in a zip"]
)
def test_a_stream_cut_off_anywhere_gives_its_start_and_says_so(tmp_path: Path, kind: str) -> None:
    in_zip = "zip" in kind.split()
    whole = {"gzip in a zip": gzip.compress(TEXT), "zstd in a zip": _zstd(TEXT)}.get(kind, WHOLE[kind])
    for length in [*range(4, 40), *range(40, len(whole), 97), *range(len(whole) - 12, len(whole))]:
        cut = whole[:length]
        content = _source(tmp_path, _zip(cut) if in_zip else cut).read()
        assert TEXT.startswith(content.data)
        assert content.damage, f"{length} of {len(whole)} bytes pass as whole"
        assert "breaks off" in content.damage


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_damage_in_the_middle_is_said(tmp_path: Path, kind: str) -> None:
    data = bytearray(WHOLE[kind])
    data[len(data) // 2] ^= 0x55
    assert _source(tmp_path, bytes(data)).read().damage


def test_garbage_behind_a_gzip_stream_is_said_but_padding_is_not(tmp_path: Path) -> None:
    content = _source(tmp_path, gzip.compress(TEXT) + b"garbage").read()
    assert content.data == TEXT
    assert content.damage


def test_a_database_that_breaks_off_is_not_unpacked(tmp_path: Path) -> None:
    source = _source(tmp_path, gzip.compress(TEXT)[:-20])
    with pytest.raises(InputError, match="breaks off"), source.local_file():
        pass


def test_no_space_to_unpack_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _source(tmp_path, gzip.compress(TEXT))
    monkeypatch.setattr(Path, "open", _full_disk(Path.open))
    with pytest.raises(InputError, match="No space left"), source.local_file():
        pass


def _full_disk(real: object) -> object:
    def opened(path: Path, mode: str = "r", *rest: object) -> object:
        if "w" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, mode, *rest)  # type: ignore[operator]

    return opened


def _bomb(kind: str) -> bytes:
    """Gigabytes of zeros."""
    zeros = bytes(64 << 20)
    if kind == "zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(4):
                archive.writestr(f"{number}.csv", zeros)
        return packed.getvalue()
    return 48 * (gzip.compress(zeros, 6) if kind == "gzip" else _zstd(zeros))


@pytest.mark.parametrize("kind", ["gzip", "zstd", "zip"])
@pytest.mark.whole
def test_a_bomb_is_refused_within_little_memory(tmp_path: Path, kind: str) -> None:
    file = _stored(tmp_path, _bomb(kind))
    script = f"""
import resource
from pathlib import Path
from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import sources_of
resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
try:
    [source.read() for source in sources_of(Path({str(file)!r}))]
except InputError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert "expands more than 250 times" in done.stdout


def test_a_window_larger_than_zstd_grants_is_refused(tmp_path: Path) -> None:
    window_of_2_gib = bytes([0x28, 0xB5, 0x2F, 0xFD, 0x00, (31 - 10) << 3, 0x01, 0x00, 0x00])
    assert "memory" in str(_source(tmp_path, window_of_2_gib).read().damage)


def test_a_repetitive_but_honest_file_is_read(tmp_path: Path) -> None:
    data = bytes(8 << 20)
    assert _source(tmp_path, gzip.compress(data)).read().data == data


def test_what_is_larger_than_allowed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match="ROCM_PERF_MAX_BYTES"):
        _source(tmp_path, TEXT).read()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(_stored(tmp_path, TEXT))

    def denied(path: Path, *rest: object) -> object:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(InputError, match=r"cannot read .*stored: Permission denied"):
        source.read()


def test_a_reading_error_midway_is_a_sentence(tmp_path: Path) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().read(10)

    reader = module.Reader(Failing(TEXT), "disk.csv", len(TEXT))
    with pytest.raises(InputError, match=r"cannot read disk.csv: Input/output error"):
        list(reader)


def test_what_the_caller_raises_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="mine"), Source(_stored(tmp_path, TEXT)).reader():
        raise FileNotFoundError("mine")


def test_folders_and_files_that_vanish(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        Source(tmp_path).read()
    source = Source(_stored(tmp_path, TEXT))
    source.path.unlink()
    with pytest.raises(InputError, match="No such file"):
        source.head()
    assert source.stored_bytes == 0
    with pytest.raises(InputError, match="No such file"), source.local_file():
        pass


def test_zip_members(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("run/", "run/a.csv.gz", "__MACOSX/run/._a.csv.gz", "run/.x.partial/manifest.json"):
            archive.writestr(name, b"x" * 10)
    (source,) = sources_of(_stored(tmp_path, packed.getvalue()))
    assert source.name.endswith("stored!run/a.csv.gz")
    assert source.file_name == "a.csv"
    assert source.folder == tmp_path / "stored" / "run"
    assert source.stored_bytes == 10


@pytest.mark.parametrize(
    "name", ["./run/a.csv", "/run/a.csv", "../../run/a.csv", "run\\a.csv", "run//./a.csv"]
)
def test_a_member_lies_in_its_archive_wherever_its_path_leads(tmp_path: Path, name: str) -> None:
    source = _source(tmp_path, _zip(TEXT, name))
    assert (source.file_name, source.folder) == ("a.csv", tmp_path / "stored" / "run")
    assert source.read().data == TEXT


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_member_without_a_name_is_read(tmp_path: Path, name: str) -> None:
    assert _source(tmp_path, zip_claiming(b"", 0, 0, name.encode())).read().data == b""


def test_two_spellings_of_one_name_are_refused(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        zipped.writestr("run/a.csv", b"1")
        zipped.writestr("./run/a.csv", b"2")
    with pytest.raises(InputError, match=r"two files called run/a\.csv"):
        sources_of(_stored(tmp_path, packed.getvalue()))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_a_damaged_member_says_where_it_breaks_off(tmp_path: Path, method: int) -> None:
    packed = bytearray(_zip(TEXT, method=method))
    packed[len(packed) // 2 : len(packed) // 2 + 64] = b"\xff" * 64
    assert "breaks off" in str(_source(tmp_path, bytes(packed)).read().damage)


def test_what_another_program_must_unpack_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="method 97"):
        _source(tmp_path, zip_claiming(TEXT, len(TEXT), method=97)).read()
    encrypted = bytearray(_zip(TEXT))
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match="encrypted"):
        _source(tmp_path, bytes(encrypted)).read()


HIDDEN_BOMBS = {
    "bzip2": lambda: zip_claiming(zeros_as_bzip2(800), 100, zipfile.ZIP_BZIP2),
    "LZMA": lambda: zip_claiming(zeros_as_lzma(400), 100, zipfile.ZIP_LZMA),
    "dictionary": lambda: zip_claiming(zeros_as_lzma(1, dictionary=2**32 - 1), 100, zipfile.ZIP_LZMA),
}


@pytest.mark.parametrize("kind", HIDDEN_BOMBS)
def test_a_member_larger_than_it_claims_takes_no_more_memory(tmp_path: Path, kind: str) -> None:
    """Python's own reader expands all that it has read of bzip2 and LZMA at once."""
    source = _source(tmp_path, HIDDEN_BOMBS[kind]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "checksum" in str(source.read().damage)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_directory_far_larger_than_that_of_a_recording_is_not_read(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        zipped.writestr("a" * 60_000, b"")
    whole = packed.getvalue()
    start = whole.index(b"PK\x01\x02")
    entries = whole[start : whole.index(b"PK\x05\x06")] * 80
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 80, 80, len(entries), start, 0)
    with pytest.raises(InputError, match="holds a directory of"):
        sources_of(_stored(tmp_path, whole[:start] + entries + end))


def test_an_empty_zip_has_no_members(tmp_path: Path) -> None:
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    assert sources_of(_stored(tmp_path, packed.getvalue())) == []


def test_a_zip_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 0)
    with pytest.raises(InputError, match="holds 1 file"):
        sources_of(_stored(tmp_path, _zip(TEXT)))


def test_a_member_that_claims_to_be_large_on_disk_does_not_widen_the_bound(tmp_path: Path) -> None:
    packed = bytearray(_zip(TEXT))
    directory = packed.index(b"PK\x01\x02")
    packed[directory + 20 : directory + 24] = (1 << 31).to_bytes(4, "little")
    (source,) = sources_of(_stored(tmp_path, bytes(packed)))
    assert source.stored_bytes <= len(packed)


def test_many_members_read_the_directory_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        for number in range(50):
            zipped.writestr(f"{number}.csv", b"x")
    opened = []

    class Counted(archive._Archive):
        def __init__(self, path: Path) -> None:
            opened.append(path)
            super().__init__(path)

    monkeypatch.setattr(archive, "_Archive", Counted)
    sources = sources_of(_stored(tmp_path, packed.getvalue()))
    assert b"".join(source.read().data for source in sources) == b"x" * 50
    assert len(opened) == 1


def test_a_zip_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    (before,) = sources_of(_stored(tmp_path, _zip(b"old")))
    assert before.read().data == b"old"
    _stored(tmp_path, _zip(b"newer"))
    assert before.read().data == b"newer"


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), kind=st.sampled_from(sorted(WHOLE)))
def test_a_changed_byte_never_gives_more_than_an_error(
    tmp_path_factory: pytest.TempPathFactory, place: float, byte: int, kind: str
) -> None:
    data = bytearray(WHOLE[kind])
    data[int(place * len(data))] = byte
    file = tmp_path_factory.getbasetemp() / "changed"
    file.write_bytes(data)
    with suppress(RocmPerfError):
        for source in sources_of(file):
            source.read()


@given(
    contents=st.lists(st.binary(max_size=300), max_size=3),
    checksum=st.booleans(),
    size=st.booleans(),
    step=st.integers(1, 50),
)
def test_frames_end_where_they_end(contents: list[bytes], checksum: bool, size: bool, step: int) -> None:
    frames = [_zstd(content, checksum=checksum, size=size) for content in contents]
    stream, ends = b"".join(frames), {0}
    for frame in frames:
        ends.add(max(ends) + len(frame))
    watch = FrameWatch()
    for start in range(0, len(stream), step):
        watch.feed(stream[start : start + step])
        assert watch.at_end_of_frame == (min(start + step, len(stream)) in ends)


def test_progress_tells_how_far_it_is(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    token = module.PROGRESS.set(lambda *told: seen.append(told))
    try:
        source = _source(tmp_path, gzip.compress(TEXT))
        source.read()
    finally:
        module.PROGRESS.reset(token)
    assert seen[-1] == (source.name, source.stored_bytes, source.stored_bytes)
