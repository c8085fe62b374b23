"""Code looked for in files: which of them, for which GPU, within which limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject import disassembly
from rocm_perf.arch.codeobject.survey import CodeSource, Wanted, survey
from rocm_perf.arch.codeobject.targets import fit
from rocm_perf.model.device_code import DeviceCode
from tests.bundle_amd import bundle
from tests.compile_amd import Compiler


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


@pytest.fixture
def image(compiler: Compiler) -> bytes:
    return compiler.compile("vector_add", "gfx90a").path.read_bytes()


def look(
    *paths: Path, limit_s: float = 60.0, archs: tuple[str, ...] = (), words: tuple[str, ...] = ()
) -> DeviceCode:
    wanted = Wanted(matches=lambda _: True, words=words, archs=archs)
    return survey(map(CodeSource, paths), wanted, limit_s=limit_s, demangle=str)


@pytest.mark.parametrize(
    ("arch", "gpu", "score"),
    [
        ("gfx942", "gfx942", 1000),
        ("gfx90a", "gfx942", 0),
        ("gfx9-4-generic", "gfx950", 1),
        ("gfx11-generic", "gfx1151", 1),
        ("gfx11-generic", "gfx1201", 0),
        ("sm_90", "sm_90", 1000),
        ("sm_90", "sm_90a", 1000),
        ("sm_80", "sm_86", 1),
        ("sm_89", "sm_86", 0),
        ("sm_80", "sm_90", 0),
        ("sm_100", "sm_103", 1),
        ("sm_90", "sm_100", 0),
    ],
)
def test_which_gpu_runs_which_code(arch: str, gpu: str, score: int) -> None:
    assert fit(arch, gpu) == score


def test_a_bundle_for_several_gpus(compiler: Compiler, image: bytes, tmp_path: Path) -> None:
    other = compiler.compile("vector_add", "gfx1151").path.read_bytes()
    path = tmp_path / "program"
    path.write_bytes(bundle({"gfx90a": image, "gfx1151": other}))
    assert [kernel.arch for kernel in look(path, archs=("gfx1151",)).kernels] == ["gfx1151"]
    assert {kernel.arch for kernel in look(path).kernels} == {"gfx90a", "gfx1151"}  # the GPU is not known
    assert look(path, archs=("gfx942",)).kernels == ()


def test_the_newest_of_several_codes_counts(compiler: Compiler, tmp_path: Path) -> None:
    for number, flags in enumerate(("-O0", "-O3")):
        path = tmp_path / f"{number}.hsaco"
        path.write_bytes(compiler.compile("vector_add", "gfx90a", flags).path.read_bytes())
        os.utime(path, (1000 - number, 1000 - number))
    (kernel,) = look(tmp_path / "1.hsaco", tmp_path / "0.hsaco").kernels
    assert (Path(kernel.file).name, kernel.variants) == ("0.hsaco", 2)
    copy = tmp_path / "2.hsaco"
    copy.write_bytes((tmp_path / "0.hsaco").read_bytes())
    assert look(tmp_path / "0.hsaco", copy).kernels[0].variants == 1


def test_a_file_without_the_words_is_passed_over(image: bytes, tmp_path: Path) -> None:
    path = tmp_path / "k.hsaco"
    path.write_bytes(image)
    assert look(path, words=("absent_kernel",)).kernels == ()
    assert len(look(path, words=("absent_kernel", "vector_add")).kernels) == 1


def test_no_time_is_said(image: bytes, tmp_path: Path) -> None:
    path = tmp_path / "k.hsaco"
    path.write_bytes(image)
    found = look(path, limit_s=0.0)
    assert (found.kernels, found.notices) == (
        (),
        ("1 file with code left out: the 0 s for reading code are used up",),
    )


def test_without_a_disassembler_the_rest_is_known(
    image: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(disassembly.VARIABLE, str(tmp_path / "absent"))
    disassembly.find_disassembler.cache_clear()
    path = tmp_path / "k.hsaco"
    path.write_bytes(image)
    (kernel,) = look(path).kernels
    assert (kernel.mix, kernel.largest_loop_bytes) == ((), None)
    assert "cannot" in kernel.unread
    assert kernel.vgprs
    disassembly.find_disassembler.cache_clear()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:40] + b"\xff" * 8 + data[48:],  # section headers beyond the end
        lambda data: data[:60] + b"\xff\xff" + data[62:],  # 65,535 sections
        lambda data: b"__CLANG_OFFLOAD_BUNDLE__" + b"\xff" * 64,
        lambda data: b"CCOB" + b"\x03\x00\x01\x00" + b"\xff" * 24,
        lambda data: b"\x50\xed\x55\xba\x01\x00\x10\x00" + b"\xff" * 64,
        lambda data: b"",
    ],
)  # fmt: skip
def test_damaged_files_are_said_and_change_nothing(damage: object, image: bytes, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.hsaco", tmp_path / "bad.hsaco"
    good.write_bytes(image)
    bad.write_bytes(damage(image))  # type: ignore[operator]
    found = look(bad, good)
    assert [Path(kernel.file).name for kernel in found.kernels] == ["good.hsaco"]
    assert len(found.notices) == 1
    assert "bad.hsaco" in found.notices[0]


def test_a_folder_or_a_missing_file_is_said(image: bytes, tmp_path: Path) -> None:
    assert len(look(tmp_path, tmp_path / "absent").notices) == 2
