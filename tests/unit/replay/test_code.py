"""Other code objects: the right one of a file, or words about what is in it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from rocm_perf.arch.codeobject import reader
from rocm_perf.errors import InputError, OutputError
from rocm_perf.replay.code import code_of
from rocm_perf.replay.errors import OtherGpuError
from rocm_perf.replay.snapshot import Snapshot
from tests.bundle_amd import bundle
from tests.compile_amd import Compiler
from tests.unit.replay.toys import Toy, make_snapshot


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Compiler.of_this_run(tmp_path_factory).compile("vector_add", "gfx942").path


def snapshot_of(folder: Path, kernel: str, gfx: str = "gfx942") -> Snapshot:
    made = make_snapshot(folder, Toy(vendor="AMD", gfx=gfx))
    dispatch = msgspec.structs.replace(made.dispatch, kernel=kernel)
    return Snapshot(made.folder, made.manifest, dispatch, made.regions)


def first_kernel(path: Path) -> str:
    return reader.read(path)[0].kernels[0].name


def test_a_code_object_is_taken_as_it_is(compiled: Path, tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, first_kernel(compiled))
    assert code_of(compiled, "A", snapshot, tmp_path).path == compiled.absolute()


def test_the_right_one_of_a_bundle(
    compiled: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Compiler.of_this_run(tmp_path_factory).compile("vector_add", "gfx90a").path
    snapshot = snapshot_of(tmp_path, first_kernel(compiled))
    fat = tmp_path / "program"
    image = compiled.read_bytes()
    fat.write_bytes(bundle({"gfx90a": other.read_bytes(), "gfx942": image}))
    code = code_of(fat, "B", snapshot, tmp_path)
    assert (code.label, code.path.read_bytes()) == ("B", image)


def test_another_gpu(compiled: Path, tmp_path: Path) -> None:
    with pytest.raises(OtherGpuError, match="no code for gfx90a: it is made for gfx942") as caught:
        code_of(compiled, "A", snapshot_of(tmp_path, first_kernel(compiled), "gfx90a"), tmp_path)
    assert caught.value.exit_code == 21


def test_another_kernel(compiled: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no kernel nope: it has {first_kernel(compiled)}"):
        code_of(compiled, "A", snapshot_of(tmp_path, "nope"), tmp_path)


def test_ptx_is_left_to_the_driver(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path)
    (tmp_path / "new.ptx").write_text("x")
    assert code_of(tmp_path / "new.ptx", "A", snapshot, tmp_path).path == tmp_path / "new.ptx"
    with pytest.raises(InputError, match="there is no file"):
        code_of(tmp_path / "none.ptx", "A", snapshot, tmp_path)


def test_what_holds_no_code(tmp_path: Path) -> None:
    (tmp_path / "x.hsaco").write_text("hello")
    with pytest.raises(InputError, match="does not contain GPU code"):
        code_of(tmp_path / "x.hsaco", "A", snapshot_of(tmp_path, "k"), tmp_path)


@pytest.mark.parametrize("name", ["x.ptx", "x.hsaco"])
def test_what_is_no_file(tmp_path: Path, name: str) -> None:
    """A pipe would be read for ever."""
    snapshot = make_snapshot(tmp_path)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="is not a file"):
        code_of(tmp_path / name, "A", snapshot, tmp_path)
    with pytest.raises(InputError, match="is not a file"):
        code_of(tmp_path, "A", snapshot, tmp_path)


def test_code_that_cannot_be_unpacked(
    compiled: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    snapshot = snapshot_of(tmp_path, first_kernel(compiled))
    fat = tmp_path / "program"
    fat.write_bytes(bundle({"gfx942": compiled.read_bytes()}))
    with pytest.raises(OutputError, match=r"cannot be unpacked.*TMPDIR"):
        code_of(fat, "B", snapshot, tmp_path / "nowhere")
