"""`rocm-perf kernels` as a user meets it."""

from __future__ import annotations

import json
import os
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from rocm_perf.arch.codeobject import disassembly
from rocm_perf.cli.main import main
from rocm_perf.model.document import SCHEMA_VERSION
from tests.bundle_amd import bundle
from tests.compile_amd import Compiler

SCHEMAS = resources.files("rocm_perf.render.report") / "schemas"


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def disassembler() -> None:
    try:
        disassembly.find_disassembler(os.environ.get(disassembly.VARIABLE))
    except disassembly.NoDisassemblerError as error:
        pytest.skip(str(error))


@pytest.fixture
def both(compiler: Compiler, tmp_path: Path) -> Path:
    path = tmp_path / "both.co"
    images = {arch: compiler.compile("tile_gemm", arch).path.read_bytes() for arch in ("gfx942", "gfx1100")}
    path.write_bytes(bundle(images))
    return path


def printed(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    assert main(["kernels", *map(str, argv)]) == 0
    return capsys.readouterr().out


def test_a_table_and_all_about_one_kernel(
    compiler: Compiler, capsys: pytest.CaptureFixture[str], disassembler: None
) -> None:
    out = printed(capsys, compiler.compile("spill", "gfx1100", "-gline-tables-only").path)
    assert "gfx1100  AMD code object v6" in out
    assert "8/16" in out
    assert "use <= 96 VGPRs" in out
    assert "registers are spilled to memory" in out
    assert "not weighted by execution" in out
    assert "spill.hip:" in out


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.whole
def test_lines_fit(
    width: int, compiler: Compiler, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for name, arch in (("spill", "gfx942"), ("registers", "gfx942"), ("mfma", "gfx90a")):
        flags = ("-DKEEP=120",) if name == "registers" else ()
        out = printed(capsys, compiler.compile(name, arch, *flags).path)
        assert max(map(len, out.splitlines())) <= width
        table = out.splitlines()[1:3]
        assert "kernel" in table[0]
        assert name[:4] in table[1]


def test_json_is_complete(both: Path, capsys: pytest.CaptureFixture[str], disassembler: None) -> None:
    document = json.loads(printed(capsys, both, "--json"))
    assert document["schema_version"] == SCHEMA_VERSION
    first, second = document["objects"]
    assert [item["code_object"]["arch"] for item in (first, second)] == ["gfx942", "gfx1100"]
    (kernel,) = first["kernels"]
    assert kernel["name"] == "tile_gemm(float const*, float const*, float*, int)"
    assert kernel["kernel"]["lds_bytes"] == 2048
    assert kernel["occupancy"]["waves_per_simd"] == 8
    assert kernel["code"]["mix"]["whole"]["classes"]["barrier"] == 2
    assert kernel["code"]["instructions"] == []


def test_choosing(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "gfx1100" not in printed(capsys, both, "--arch", "gfx942")
    assert main(["kernels", str(both), "--arch", "gfx90a"]) == 2
    assert "It has: gfx942, gfx1100" in capsys.readouterr().err
    assert "tile_gemm" in printed(capsys, both, "--kernel", "^tile_.*float")
    assert main(["kernels", str(both), "--kernel", "nothing"]) == 2
    assert main(["kernels", str(both), "--kernel", "("]) == 2


def test_the_launch_changes_the_occupancy(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = (both, "--arch", "gfx942", "--json", "--workgroup", "1024", "--lds", str(38 << 10))
    (kernel,) = json.loads(printed(capsys, *argv))["objects"][0]["kernels"]
    assert kernel["workgroup_size"] == 1024
    assert (kernel["occupancy"]["waves_per_simd"], kernel["occupancy"]["limiters"]) == (4, ["LDS"])


def test_a_listing(both: Path, capsys: pytest.CaptureFixture[str], disassembler: None) -> None:
    out = printed(capsys, both, "--arch", "gfx942", "--disassemble")
    assert "s_barrier" in out
    assert "s_endpgm" in out
    assert "s_barrier" not in printed(capsys, both, "--arch", "gfx942")


def test_without_a_disassembler(
    both: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROCM_PERF_OBJDUMP", str(tmp_path / "absent"))
    out = printed(capsys, both)
    assert "8/8" in out
    assert "llvm-19" in out
    assert main(["kernels", str(both), "--disassemble"]) == 3
    assert "llvm-19" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x7fELF\x02\x01" + b"\0" * 90, None])
def test_unreadable(content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "input"
    if content is not None:
        path.write_bytes(content)
    assert main(["kernels", str(path)]) == 6
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_chip_that_the_catalogue_does_not_have(
    compiler: Compiler, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, compiler.compile("vector_add", "gfx11-generic").path)
    assert "unavailable: gfx11-generic is not in the catalogue" in out


def test_names_of_strangers_do_nothing_to_a_terminal(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = b"amdgcn-amd-amdhsa--gfx1100"
    hostile = b"\x1b[2J\x00\x07[/]".ljust(len(named) - 7) + b"gfx1100"
    both.write_bytes(both.read_bytes().replace(named, hostile, 1))  # in the index of the bundle
    shown = printed(capsys, both)
    assert "gfx1100" in shown
    assert not {"\x1b", "\x00", "\x07"} & set(shown)


@pytest.fixture
def builds(compiler: Compiler) -> tuple[str, str]:
    """One kernel as two compilers could have built it: few registers, and many."""
    base, new = (compiler.compile("registers", "gfx942", f"-DKEEP={keep}").path for keep in (60, 120))
    return str(base), str(new)


def test_two_files_side_by_side(
    builds: tuple[str, str], capsys: pytest.CaptureFixture[str], disassembler: None
) -> None:
    lines = printed(capsys, *builds).splitlines()
    assert lines[1] == "1 kernel in both files, 1 of them differs."
    assert lines[2] == "1 kernel can have fewer waves in flight than before."
    heading, row = (lines[lines.index("What differs") + place] for place in (1, 2))
    assert heading.split() == ["waves", "vgprs", "instructions", "agprs", "code", "kernel"]
    assert row.split()[:3] == ["2", "->", "1"]
    assert any(line.split()[-2:] == ["VMEM", "load"] and "+60" in line for line in lines)


def test_a_compiler_that_spills_is_found_without_running_anything(
    compiler: Compiler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (compiler.compile("spill", "gfx942", level).path for level in ("-O1", "-O3"))
    cases = tmp_path / "checks.xml"
    assert main(["kernels", str(old), str(old), "--fail-on", "spills>0"]) == 0
    assert main(["kernels", str(old), str(new), "--fail-on", "spills>0", "--junit", str(cases)]) == 1
    assert "1 kernel spills more registers than before." in capsys.readouterr().out
    assert "spill (gfx942) spills: 0 -&gt; " in cases.read_text()


@pytest.mark.parametrize("width", [80, 160])
def test_lines_of_two_files_fit(
    width: int, compiler: Compiler, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    old, new = (compiler.compile("spill", "gfx942", level).path for level in ("-O1", "-O3"))
    out = printed(capsys, old, new)
    assert max(map(len, out.splitlines())) <= width
    assert any(line.startswith("0 -> ") for line in out.splitlines())


def test_two_files_as_json(builds: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, *builds, "--json"))
    schema = json.loads((SCHEMAS / "kernel_comparison.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    (pair,) = document["pairs"]
    assert (pair["match"], pair["arch"]) == ("name", "gfx942")
    assert pair["base"]["kernel"]["vgprs"] < pair["new"]["kernel"]["vgprs"]


def test_limits_on_files_fail_closed(
    builds: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["kernels", *builds, "--fail-on", "kernel:absent.spills>0"]) == 4
    monkeypatch.setenv("ROCM_PERF_OBJDUMP", str(tmp_path / "absent"))
    assert main(["kernels", *builds, "--fail-on", "instructions>+5"]) == 4
    assert "instructions are not compared" in capsys.readouterr().out


def test_files_that_cannot_be_compared(
    builds: tuple[str, str], compiler: Compiler, capsys: pytest.CaptureFixture[str]
) -> None:
    for argv, reason in (
        ((builds[0], "--fail-on", "spills>0"), "--fail-on compares two files"),
        ((*builds, "--disassemble"), "--disassemble lists one file"),
        ((*builds, "--fail-on", "spilt>0"), "'spilt' is none of spills"),
        (
            (builds[0], str(compiler.compile("registers", "gfx1100", "-DKEEP=60").path)),
            "no architecture in common",
        ),
    ):
        assert main(["kernels", *argv]) == 2
        assert reason in capsys.readouterr().err
