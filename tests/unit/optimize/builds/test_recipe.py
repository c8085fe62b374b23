"""The commands that lead from a source to its product, and the same commands for a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import UsageError
from rocm_perf.optimize.builds.architecture_options import for_arch, ptx_recipe
from rocm_perf.optimize.builds.commands import commands_in
from rocm_perf.optimize.builds.recipe import Recipe, recipe_of, relocated

HERE = Path("/home/me/src")
SOURCE = HERE / "scale.hip"


def _recipe(text: str, product: Path | None = None) -> Recipe | None:
    return recipe_of(commands_in(text, HERE), source=SOURCE, product=product, origin="a test")


def _known(text: str, product: Path | None = None) -> Recipe:
    recipe = _recipe(text, product)
    assert recipe is not None
    return recipe


def test_only_what_the_product_is_made_of_is_kept() -> None:
    text = (
        "echo building\nhipcc -c main.cpp -o main.o\nhipcc -c scale.hip -o scale.o\nhipcc -c tests.cpp -o tests.o\n"
        "hipcc main.o scale.o -o program\nhipcc tests.o -o tests\n"
    )
    recipe = _known(text)
    assert recipe.product == HERE / "program"
    assert [command.target for command in recipe.commands] == [
        HERE / "main.o",
        HERE / "scale.o",
        HERE / "program",
    ]
    assert recipe.compiling.target == HERE / "scale.o"


def test_a_compile_command_alone_makes_an_object() -> None:
    recipe = _known("hipcc -c scale.hip")
    assert (recipe.product, recipe.makes) == (HERE / "scale.o", "object")


def test_commands_that_do_not_lead_there_are_no_recipe() -> None:
    assert _recipe("hipcc -o other other.hip") is None
    assert _recipe("hipcc -o other scale.hip", HERE / "program") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("g++ -O3 -o scale scale.hip", r"g\+\+ compiles scale.hip for the host alone"),
        ("hipcc $FLAGS -o scale scale.hip", "needs a shell for '\\$FLAGS'"),
    ],
)
def test_commands_that_cannot_be_used_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _recipe(text)
    assert _recipe("clang++-19 -x hip --offload-arch=gfx942 -o scale scale.hip") is not None


def test_a_copy_writes_nothing_where_the_user_works() -> None:
    recipe = _known("hipcc -MD -MF build/scale.d -c scale.hip -o a/x.o\nhipcc a/x.o b/x.o -o ./program")
    copied = relocated(recipe, Path("/copy"), ("-DFAST",))
    assert [str(command) for command in copied.commands] == [
        "hipcc -iquote /home/me/src -MD -MF /copy/scale.d -c /copy/scale.hip -o /copy/x.o -DFAST",
        "hipcc /copy/x.o b/x.o -o /copy/program",
    ]
    assert (copied.source, copied.product) == (Path("/copy/scale.hip"), Path("/copy/program"))


def test_files_of_one_name_get_places_of_their_own() -> None:
    recipe = _known("hipcc -c scale.hip -o a/x\nhipcc a/x -o x")
    written = [path for command in relocated(recipe, Path("/copy")).commands for path in command.written]
    assert len(set(written)) == 2


def test_nvcc_finds_the_sources_neighbours_too() -> None:
    copied = relocated(_known("nvcc -o scale scale.hip"), Path("/copy"))
    assert copied.commands[0].argv[:3] == ("nvcc", "-I", "/home/me/src")


def test_another_chip_takes_the_place_of_those_that_were_named() -> None:
    amd = _known("hipcc --offload-arch=gfx90a --offload-arch=gfx1100 -O3 -o scale scale.hip")
    assert str(for_arch(amd, "gfx942")) == "hipcc --offload-arch=gfx942 -O3 -o scale scale.hip"
    nvidia = _known("nvcc -arch native -gencode=arch=compute_80,code=sm_80 -o scale scale.hip")
    assert str(for_arch(nvidia, "sm_90")) == "nvcc -arch=sm_90 -o scale scale.hip"


def test_ptx_comes_of_the_same_command() -> None:
    recipe = ptx_recipe(_known("nvcc -arch=native -use_fast_math -c scale.hip -o build/scale.o"), "sm_90")
    ptx = "nvcc -ptx -arch=compute_90 -use_fast_math scale.hip -o /home/me/src/scale.ptx"
    assert str(recipe) == ptx
