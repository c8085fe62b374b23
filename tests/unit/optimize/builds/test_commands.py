"""What a compiler's command reads and writes, and which commands a text holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import UsageError
from rocm_perf.optimize.builds.commands import Command, commands_in

HERE = Path("/home/me/src")


def _command(text: str) -> Command:
    (command,) = commands_in(text, HERE)
    return command


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("hipcc -O3 -o scale scale.cpp", HERE / "scale"),
        ("hipcc -c scale.cpp -obuild/scale.o", HERE / "build/scale.o"),
        ("nvcc --output-file=/tmp/scale scale.cu", Path("/tmp/scale")),
        ("nvcc -odir objects -o ../scale scale.cu", Path("/home/me/scale")),
    ],
)
def test_the_target_is_what_the_command_says(text: str, target: Path) -> None:
    assert _command(text).target == target


@pytest.mark.parametrize(
    ("text", "name"),
    [("hipcc scale.cpp", "a.out"), ("nvcc -c scale.cu", "scale.o"), ("nvcc -cubin scale.cu", "scale.cubin")],
)
def test_a_target_that_is_not_named_is_written_out(text: str, name: str) -> None:
    command = _command(text)
    assert command.target is None
    assert command.with_target(HERE / "scale.cu").target == HERE / name


def test_dependency_files_are_written_too() -> None:
    command = _command("hipcc -MD -MF deps/scale.d -c scale.cpp -o scale.o")
    assert command.written == (HERE / "deps/scale.d", HERE / "scale.o")


def test_paths_are_moved_however_they_are_written() -> None:
    command = _command("hipcc -DNAME=scale.cpp -oscale ./scale.cpp -I. /home/me/src/other.o")
    places = {
        HERE / "scale.cpp": Path("/new/scale.cpp"),
        HERE / "scale": Path("/new/scale"),
        HERE / "other.o": Path("/o"),
    }
    moved = "hipcc -DNAME=scale.cpp -o/new/scale /new/scale.cpp -I. /o"
    assert str(command.moved(places)) == moved


def test_options_that_leave_files_behind_are_left_out() -> None:
    assert str(_command("nvcc -keep --save-temps=obj -O3 x.cu").tidy()) == "nvcc -O3 x.cu"


def test_options_come_after_the_compiler_itself() -> None:
    command = _command("CCACHE_DIR=/c ccache hipcc -O3 x.hip").with_options(("-I", "/here"))
    assert str(command) == "env CCACHE_DIR=/c ccache hipcc -I /here -O3 x.hip"
    assert command.compiler == "hipcc"


def test_a_text_of_commands_is_read_as_make_prints_it() -> None:
    text = (
        "mkdir -p build && cd sub; hipcc -DTEXT='a b' \\\n  -c x.hip # fast\n"
        "make[1]: Entering directory '/other'\ncc y.c\nmake[1]: Leaving directory '/other'\necho done\n"
    )
    commands = commands_in(text, HERE)
    assert [command.argv for command in commands] == [
        ("mkdir", "-p", "build"),
        ("hipcc", "-DTEXT=a b", "-c", "x.hip"),
        ("cc", "y.c"),
        ("echo", "done"),
    ]
    assert [command.cwd for command in commands] == [HERE, HERE / "sub", Path("/other"), HERE]


@pytest.mark.parametrize(
    "text", ["hipcc x.hip > log", "hipcc `cat flags` x.hip", "hipcc $FLAGS x.hip", "a | b"]
)
def test_what_only_a_shell_understands_is_marked(text: str) -> None:
    assert _command(text).shell


def test_an_open_quote_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match="the build command cannot be read: No closing quotation"):
        commands_in("hipcc 'x.hip", HERE)
