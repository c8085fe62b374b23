"""Inputs that change while they are read: whatever a verb sees, it ends with an answer or with a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from rocm_perf.cli.demo import workload_file
from tests.compile_amd import Compiler
from tests.fuzz.verbs.judge import DOCUMENTED

pytestmark = pytest.mark.launches

ROUNDS = 12
_READER = """
import sys
from rocm_perf.cli.main import main
for _ in range(int(sys.argv[1])):
    print("ended", main(sys.argv[2:]), flush=True)
"""


def cut(file: Path, random: Random) -> None:
    os.truncate(file, random.randrange(file.stat().st_size + 1))


def grow(file: Path, random: Random) -> None:
    with file.open("ab") as end:
        end.write(random.randbytes(1000))


def overwrite(file: Path, random: Random) -> None:
    with file.open("r+b") as middle:
        middle.seek(random.randrange(file.stat().st_size + 1))
        middle.write(random.randbytes(100))


def remove(file: Path, random: Random) -> None:
    file.unlink()


def become_a_folder(file: Path, random: Random) -> None:
    file.unlink()
    file.mkdir()


WAYS: Sequence[Callable[[Path, Random], None]] = (
    cut,
    cut,
    grow,
    overwrite,
    remove,
    become_a_folder,
)


def disturb(original: Path, path: Path, random: Random) -> None:
    """Change one file, and put everything back."""
    file = random.choice(sorted(each for each in original.rglob("*") if each.is_file()) or [original])
    place = path / file.relative_to(original)
    with suppress(OSError):
        random.choice(WAYS)(place, random)
    restore(file, place)


def restore(file: Path, place: Path) -> None:
    if place.is_dir():
        place.rmdir()
    place.parent.mkdir(exist_ok=True)
    shutil.copyfile(file, place)


def read_while_it_changes(original: Path, path: Path, *argv: str) -> None:
    """Run the verb on `path` again and again, in a process of its own, and change `path` meanwhile."""
    random = Random(5)
    command = [sys.executable, "-c", _READER, str(ROUNDS), *argv]
    log = original.with_name("log")
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as reader:
        while reader.poll() is None:
            disturb(original, path, random)
    printed = log.read_text()
    assert reader.returncode == 0, printed[-2000:]
    assert "Traceback" not in printed
    codes = {int(line.split()[1]) for line in printed.splitlines() if line.startswith("ended ")}
    assert codes <= DOCUMENTED, printed[-2000:]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a simulated run."""
    from rocm_perf.cli.main import main

    folder = tmp_path_factory.mktemp("recorded") / "run"
    workload = str(workload_file("slivers"))
    assert main(["profile", "--device", "sim:MI300X", "-o", str(folder), "--", workload]) == 0
    return folder


@pytest.mark.parametrize("verb", ["analyze", "export"])
@pytest.mark.parametrize("form", ["bundle", "rocprofv3-csv", "rocpd", "torch", "perfetto"])
def test_recordings(run: Path, tmp_path: Path, form: str, verb: str) -> None:
    from rocm_perf.cli.main import main

    original, path = tmp_path / "original", tmp_path / "changing"
    original.mkdir()
    assert main(["export", str(run), "--format", form, "-o", str(original / "recording")]) == 0
    shutil.copytree(original, path)
    options = ["-o", str(tmp_path / "exported"), "--force"] if verb == "export" else ["--show", "all"]
    read_while_it_changes(original, path, verb, str(path), *options)


def test_code_objects(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    original, path = tmp_path / "original", tmp_path / "changing"
    original.mkdir()
    compiled = Compiler.of_this_run(tmp_path_factory).compile("vector_add", "gfx942").path
    shutil.copyfile(compiled, original / "kernel.hsaco")
    shutil.copytree(original, path)
    read_while_it_changes(original, path, "kernels", str(path / "kernel.hsaco"))
