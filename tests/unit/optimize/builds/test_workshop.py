"""Builds of copies: what comes of them, what goes wrong, and that nothing of the user's is touched or left behind. The
compiler is a script that does as the text of the source says."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_perf.errors import UsageError
from rocm_perf.optimize.builds.commands import commands_in
from rocm_perf.optimize.builds.errors import BuildError
from rocm_perf.optimize.builds.gates import built, rebuilt
from rocm_perf.optimize.builds.recipe import Recipe, recipe_of
from rocm_perf.optimize.builds.workshop import Build, Workshop
from tests.unit.optimize.hand_made import code_object, kernel

COMPILER = """\
#!/bin/sh
echo "$@" >> "$0.log"
while [ $# -gt 0 ]; do
  case "$1" in
    -o) out=$2; shift ;;
    *.hip) source=$1 ;;
  esac
  shift
done
has() { grep -q "$1" "$source"; }
has wrong && { echo "$source:3:1: error: no member named 'y'"; echo "note: here"; echo "1 error generated."; exit 1; }
has slow && { echo part > "${TMPDIR:-/tmp}/half-made"; sleep 600; }
has unwritten && exit 0
has hostless && { echo text > "$out"; exit 0; }
cat "$0.code" > "$out"
has dated && date +%s >> "$out"
exit 0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a source, and a folder for temporary files that is watched."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))  # the compiler's own
    compiler = tmp_path / "hipcc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    Path(f"{compiler}.code").write_bytes(code_object(kernel()))
    (home / "scale.hip").write_text("good")
    return home


@pytest.fixture
def recipe(folder: Path) -> Iterator[Recipe]:
    """Its recipe; afterwards the user's folder is as it was, and nothing temporary is left."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    commands = commands_in(f"{folder.parent}/hipcc -O3 -o scale scale.hip", folder)
    recipe = recipe_of(commands, source=folder / "scale.hip", product=None, origin="a test")
    assert recipe is not None
    yield recipe
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert not list((folder.parent / "temporary").iterdir())


def _calls(folder: Path) -> list[str]:
    return (folder.parent / "hipcc.log").read_text().splitlines()


def test_a_text_is_built_once_and_read(recipe: Recipe, folder: Path) -> None:
    with Workshop(recipe) as workshop:
        original = workshop.build_original()
        assert original.product.is_file()
        assert original.code.symbols("gfx942", "scale") == ("_Z5scalePfi",)
        assert workshop.build(b"good") is original
        faster = workshop.build(b"good", ("-DFAST",))
        assert faster.product != original.product
    assert len(_calls(folder)) == 2
    assert _calls(folder)[1].endswith("scale.hip -DFAST")


def test_two_builds_are_compared_by_their_code(recipe: Recipe) -> None:
    with Workshop(recipe) as workshop:
        assert rebuilt(workshop, workshop.build(b"good")).passed
        passage = rebuilt(workshop, workshop.build(b"dated"))
    assert not passage.passed
    assert passage.words == "two builds of one text differ in the code for gfx942"


def test_a_candidate_that_does_not_compile_is_one_line_and_the_compilers_first_lines(recipe: Recipe) -> None:
    with Workshop(recipe) as workshop:
        build, passage = built(workshop, b"wrong")
        with pytest.raises(BuildError) as caught:
            workshop.build(b"wrong")
    assert build is None
    assert passage.words == "hipcc failed with exit code 1: scale.hip:3:1: error: no member named 'y'"
    assert caught.value.complaint.splitlines()[1] == "note: here"


def test_a_source_that_does_not_build_as_it_is(recipe: Recipe, folder: Path) -> None:
    (folder / "scale.hip").write_text("wrong")
    try:
        with Workshop(recipe) as workshop, pytest.raises(BuildError) as caught:
            workshop.build_original()
    finally:
        (folder / "scale.hip").write_text("good")
    assert str(caught.value).startswith(
        "scale.hip does not build as it is, before any change: scale.hip:3:1: error"
    )
    assert str(caught.value).endswith("hipcc -O3 -o scale scale.hip")


@pytest.mark.parametrize(
    ("text", "limit_s", "words"),
    [
        (b"slow", 0.3, "hipcc did not end within 0.3 s"),
        (b"unwritten", 120, "the build command wrote no scale"),
        (b"hostless", 120, "scale does not contain GPU code in a known format"),
    ],
)
def test_what_else_can_go_wrong_is_one_clear_line(
    recipe: Recipe, text: bytes, limit_s: float, words: str
) -> None:
    started = time.monotonic()
    with Workshop(recipe, limit_s=limit_s) as workshop, pytest.raises(BuildError) as caught:
        workshop.build(text)
    assert words in str(caught.value)
    assert time.monotonic() - started < 120  # not the 600 s that the compiler sleeps


def test_a_compiler_that_cannot_be_started(recipe: Recipe, folder: Path) -> None:
    (folder.parent / "hipcc").chmod(0o644)
    with (
        Workshop(recipe) as workshop,
        pytest.raises(BuildError, match=r"cannot start .*hipcc: Permission denied"),
    ):
        workshop.build(b"good")


def test_several_at_once_keep_their_order_and_their_errors(recipe: Recipe) -> None:
    with Workshop(recipe, jobs=3) as workshop:
        results = workshop.build_all([(b"good 1", ()), (b"wrong", ()), (b"good 2", ()), (b"good 1", ())])
    assert [type(one) for one in results] == [Build, BuildError, Build, Build]
    assert results[0] is results[3]


def test_names_that_follow_from_the_path_keep_all_builds_at_one_place(recipe: Recipe, folder: Path) -> None:
    hidden = kernel("_ZN32_GLOBAL__N__6b57616b_4_k_cu_main6hiddenEPf")
    (folder.parent / "hipcc.code").write_bytes(code_object(hidden))
    with Workshop(recipe, jobs=2) as workshop:
        workshop.build_original()
        workshop.build_all([(b"good 1", ()), (b"good 2", ())])
    assert len({call.split()[-1] for call in _calls(folder)}) == 1


def test_whoever_is_interrupted_leaves_nothing_running(recipe: Recipe, folder: Path) -> None:
    def interrupt_once_it_builds() -> None:
        while not (folder.parent / "hipcc.log").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    started = time.monotonic()
    threading.Thread(target=interrupt_once_it_builds, daemon=True).start()
    with Workshop(recipe, jobs=2) as workshop, pytest.raises(KeyboardInterrupt):
        workshop.build_all([(b"slow 1", ()), (b"slow 2", ()), (b"slow 3", ())])
    assert time.monotonic() - started < 120  # not the 600 s that the compiler sleeps


def test_a_source_that_is_gone(recipe: Recipe, folder: Path) -> None:
    (folder / "scale.hip").unlink()
    try:
        with Workshop(recipe) as workshop, pytest.raises(UsageError, match="there is no source file"):
            workshop.build_original()
    finally:
        (folder / "scale.hip").write_text("good")
