"""Where the build command comes from: the user, make, ninja's cousins, or a plain call of the compiler."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rocm_perf.errors import InputError, UsageError
from rocm_perf.optimize.builds.compilers import Compiler
from rocm_perf.optimize.builds.find import BuildWish, find_recipe
from rocm_perf.optimize.builds.recipe import Recipe

HIPCC = Compiler("hipcc", "AMD", ("/opt/rocm/bin/hipcc", "-x", "hip"))
MAKEFILE = """\
FLAGS := -O3
scale: scale.o main.o
	hipcc $(FLAGS) $^ -o $@
%.o: %.cpp
	hipcc $(FLAGS) -c $< -o $@
only_tests:
	echo nothing
"""


def _no_compiler() -> Compiler:
    raise AssertionError("no compiler is to be asked for")


def _found(wish: BuildWish) -> Recipe:
    return find_recipe(wish, _no_compiler)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("scale.cpp", "main.cpp", "scale"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Path:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (folder / "Makefile").write_text(MAKEFILE)
    return folder


@pytest.mark.parametrize("named", ["scale", "scale.cpp"])
def test_a_makefile_beside_it_says_how(project: Path, named: str) -> None:
    recipe = _found(BuildWish(project / named))
    assert recipe.origin == "the rule scale of Makefile"
    assert str(recipe).split(" && ")[-1] == "hipcc -O3 scale.o main.o -o scale"
    assert (recipe.source, recipe.product) == (project / "scale.cpp", project / "scale")


def test_make_is_asked_even_if_everything_is_up_to_date(project: Path) -> None:
    for name in ("scale.o", "main.o", "scale"):
        (project / name).touch()
    recipe = _found(BuildWish(project / "scale"))
    assert [command.target for command in recipe.commands] == [project / "scale.o", project / "scale"]


def test_a_make_command_is_asked_what_it_would_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    recipe = _found(BuildWish(Path("scale"), command="make FLAGS=-O1 scale"))
    assert "hipcc -O1 -c scale.cpp -o scale.o" in str(recipe)


def test_a_source_without_a_rule_of_its_own_belongs_to_the_first_rule(project: Path) -> None:
    recipe = _found(BuildWish(project / "main.cpp"))
    assert (recipe.product, recipe.origin) == (project / "scale", "the first rule of Makefile")


def test_rules_of_makes_own_are_the_last_that_are_asked(project: Path) -> None:
    (project / "Makefile").write_text("CXX := hipcc -O2\nLINK.o = $(CXX)\nscale: scale.o\n")
    assert "hipcc -O2 -c -o scale.o scale.cpp" in str(_found(BuildWish(project / "scale")))
    (project / "Makefile").write_text("other:\n\techo nothing\n")
    assert find_recipe(BuildWish(project / "scale"), lambda: HIPCC).origin.startswith("the plain call")


def test_make_may_be_told_where_to_work(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    for name in ("scale.o", "main.o", "scale"):
        (project / name).touch()
    wish = BuildWish(project / "scale", command=f"make -C {project.name} scale")
    assert [command.cwd for command in _found(wish).commands] == [project, project]


def test_the_source_of_a_program_with_another_name_is_found_in_its_rule(project: Path) -> None:
    (project / "Makefile").write_text("fast: scale.cpp\n\thipcc -o fast scale.cpp\n")
    assert _found(BuildWish(project / "fast")).source == project / "scale.cpp"


def test_the_users_command_comes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    recipe = _found(BuildWish(Path("scale.cpp"), command="hipcc -O2 scale.cpp -o fast"))
    assert (recipe.product, recipe.origin) == (project / "fast", "--build")


def test_a_command_that_does_not_name_the_source_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"does not lead from scale\.cpp to a program: \./build\.sh"):
        _found(BuildWish(folder / "scale.cpp", command="./build.sh"))


def test_compile_commands_and_cmakes_link_script(folder: Path) -> None:
    build = folder / "build"
    objects = build / "CMakeFiles" / "scale.dir"
    objects.mkdir(parents=True)
    (objects / "link.txt").write_text("hipcc CMakeFiles/scale.dir/scale.cpp.o -o scale\n")
    command = f"hipcc -O3 -o CMakeFiles/scale.dir/scale.cpp.o -c {folder}/scale.cpp"
    entry = {"directory": str(build), "file": "../scale.cpp", "command": command}
    (build / "compile_commands.json").write_text(json.dumps([entry]))
    recipe = _found(BuildWish(folder / "scale.cpp"))
    assert (recipe.product, recipe.makes) == (build / "scale", "program")
    (objects / "link.txt").unlink()
    assert _found(BuildWish(folder / "scale.cpp")).makes == "object"


def test_a_damaged_database_is_one_clear_line(folder: Path) -> None:
    (folder / "compile_commands.json").write_text('[{"directory": 3}]')
    with pytest.raises(InputError, match=r"cannot read .*compile_commands\.json: Expected"):
        _found(BuildWish(folder / "scale.cpp"))


def test_a_plain_call_is_what_is_left(folder: Path) -> None:
    recipe = find_recipe(BuildWish(folder / "scale.cpp", arch="gfx942"), lambda: HIPCC)
    assert str(recipe) == (
        f"/opt/rocm/bin/hipcc -x hip -O3 --offload-arch=gfx942 -o {folder}/scale {folder}/scale.cpp"
    )
    assert "nothing else says how" in recipe.origin


def test_a_program_without_a_source_and_a_source_that_is_not_there(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"the source of other is not known: .*Give it with --source"):
        _found(BuildWish(folder / "other"))
    with pytest.raises(UsageError, match=r"there is no source file missing\.hip"):
        _found(BuildWish(folder / "missing.hip"))
