"""`rocm-perf optimize` where nothing can be optimised: one clear line, nothing changed, no temporary files.

The compiler is a script that copies a code object made by hand; programs are scripts that are given the product."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocm_perf.cli.main import main
from tests.unit.optimize.hand_made import code_object, kernel

SOURCE = """__global__ void scale(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
}
int main() { return 0; }
"""
COMPILER = """#!/bin/sh
for word; do case $last in -o) product=$word;; esac; last=$word; done
cp {code} "$product"
"""


@dataclass(frozen=True)
class Workplace:
    """A folder with a source and a compiler."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    def compiler(self, text: str = COMPILER) -> None:
        code = self.folder / "code.hsaco"
        code.write_bytes(code_object(kernel("_Z5scalePfi")))
        self.write("compiler", text.format(code=shlex.quote(str(code))))

    def refused(self, *options: str, code: int, source: str = SOURCE) -> str:
        """What the verb says when it refuses, with this exit code."""
        file = self.write("scale.hip", source)
        build = "./compiler -o program scale.hip"
        assert main(["optimize", "scale.hip", "--arch", "gfx942", "--build", build, *options]) == code
        said = self.capsys.readouterr()
        assert said.out == ""
        assert file.read_text() == source
        assert list((self.folder / "temporary").iterdir()) == []
        assert not (self.folder / "program").exists()
        return said.err.splitlines()[-1]


@pytest.fixture
def workplace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Workplace:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    place = Workplace(tmp_path, capsys)
    place.compiler()
    return place


def test_a_source_that_does_not_parse(workplace: Workplace) -> None:
    said = workplace.refused(source="__global__ void scale(float* x { x[0] = 1;\nint main() {", code=6)
    assert said.startswith("rocm-perf: scale.hip defines no kernel that can be read: scale is left alone")
    assert said.endswith("Does it compile as it is?")


def test_a_source_without_kernels(workplace: Workplace) -> None:
    said = workplace.refused(source="int main() { return 0; }\n", code=2)
    assert said == (
        "rocm-perf: scale.hip defines no kernel that can be changed: there is no __global__ function in it. "
        "Name the file that defines the kernel."
    )


def test_a_kernel_that_is_not_there(workplace: Workplace) -> None:
    said = workplace.refused("--kernel", "scael", code=2)
    assert said == "rocm-perf: scale.hip does not define a kernel scael. The nearest names: scale."


def test_patches_and_proposers_that_are_not_there(workplace: Workplace) -> None:
    assert "cannot read absent.patch: No such file" in workplace.refused("--patches", "absent.patch", code=6)
    assert "--proposer is not a command" in workplace.refused("--proposer", "'open", code=2)


@pytest.mark.launches
def test_a_source_that_does_not_build(workplace: Workplace) -> None:
    workplace.compiler("#!/bin/sh\necho 'scale.hip:1: error: unknown type' >&2\nexit 1\n")
    said = workplace.refused(code=6)
    assert said == (
        "rocm-perf: scale.hip does not build as it is, before any change: scale.hip:1: error: unknown type. "
        "It was built by the command ./compiler --offload-arch=gfx942 -o program scale.hip"
    )


@pytest.mark.launches
def test_a_build_that_hangs(workplace: Workplace) -> None:
    workplace.compiler("#!/bin/sh\nsleep 600\n")
    said = workplace.refused("--timeout", "0.5", code=6)
    assert "does not build as it is, before any change: compiler did not end within 0.5 s" in said


@pytest.mark.launches
def test_a_build_that_is_another_one_each_time(workplace: Workplace) -> None:
    workplace.compiler(COMPILER + 'date +%N >> "$product"\n')
    said = workplace.refused(code=2)
    assert said.startswith(
        "rocm-perf: scale.hip does not build to the same code each time: two builds of one text"
    )


@pytest.mark.launches
def test_a_program_that_fails_before_any_change(workplace: Workplace) -> None:
    workplace.write("fails", "#!/bin/sh\nexit 3\n")
    said = workplace.refused("--run", "./fails ./program", code=5)
    assert said == (
        "rocm-perf: fails fails before any change: it ended with exit code 3. "
        "Make it run to its end first; --run gives its arguments."
    )


@pytest.mark.launches
def test_a_program_that_hangs(workplace: Workplace) -> None:
    workplace.write("hangs", "#!/bin/sh\nsleep 600\n")
    said = workplace.refused("--run", "./hangs ./program", "--timeout", "5", code=5)  # enough for the build
    assert said.startswith("rocm-perf: hangs fails before any change: it did not end within 5 s.")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--apply", "--rollback"], "exclude each other"),
        (["--static", "--apply"], "nothing to apply"),
        (["--only-proposed"], "needs --proposer or --patches"),
        (["--snapshot", "snap"], "--snapshot needs --static"),
        (["--allow-fast-math"], "Add, for example, --verify f32=0,1e-5."),
        (["--verify", "f33=0,1"], "f33"),
        (["--verify", "flops=-1"], "Write for example flops=1.4e11."),
        (["--run", "'unclosed"], "cannot be read as a command"),
        (["--rollback"], "nothing was applied to"),
    ],
)
def test_wishes_that_make_no_sense(workplace: Workplace, options: list[str], why: str) -> None:
    assert why in workplace.refused(*options, code=2)
