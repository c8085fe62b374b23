"""Ranges from user code, against small libraries that write down how they are called."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocm_perf
from rocm_perf.annotation import libraries, ranges
from rocm_perf.annotation.libraries import NVTX, ROCTX64, SDK, Kind
from rocm_perf.annotation.library import NOTHING, Library

Calls = Callable[[], list[str]]

FIRST = (1 << 40) + 7  # the number of the first range that `start` begins
STUB = """
#include <stdio.h>
#include <string.h>
static char text[65536];
static unsigned long long next = (1ULL << 40) + 7;
static void add(const char *what, const char *name) {
  size_t n = strlen(text);
  snprintf(text + n, sizeof text - n, "%s %s\\n", what, name);
}
int PUSH(const char *name) { add("push", name); return 0; }
int POP(void) { add("pop", ""); return 0; }
void MARK(const char *name) { add("mark", name); }
unsigned long long START(const char *name) { add("start", name); return next++; }
void STOP(unsigned long long id) { char number[32]; snprintf(number, 32, "%llu", id); add("stop", number); }
const char *calls(void) { return text; }
"""


def compile_stub(folder: Path, kind: Kind, file: str) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "stub.c"
    source.write_text(STUB)
    names = zip(("PUSH", "POP", "MARK", "START", "STOP"), kind.functions, strict=True)
    defines = [f"-D{macro}={name}" for macro, name in names]
    subprocess.run(
        [compiler, "-shared", "-fPIC", *defines, str(source), "-o", str(folder / file)], check=True
    )
    return folder / file


@pytest.fixture(params=[SDK, ROCTX64, NVTX], ids=lambda kind: kind.name)
def calls(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """A library is chosen; what it was called with."""
    kind: Kind = request.param
    path = compile_stub(tmp_path, kind, kind.files[0])
    library = libraries.load(kind, str(path))
    assert library is not None
    monkeypatch.setattr(ranges, "_chosen", library)
    recorded = ctypes.CDLL(str(path)).calls
    recorded.restype = ctypes.c_char_p
    return lambda: [line.strip() for line in recorded().decode().splitlines()]


def test_a_block(calls: Calls) -> None:
    with rocm_perf.annotate("load"):
        rocm_perf.mark("half")
    assert calls() == ["push load", "mark half", "pop"]


def test_push_and_pop(calls: Calls) -> None:
    rocm_perf.push("naïve ⚙")
    rocm_perf.pop()
    assert calls() == ["push naïve ⚙", "pop"]


def test_an_exception_passes_and_closes_the_range(calls: Calls) -> None:
    with pytest.raises(KeyError, match="mine"), rocm_perf.annotate("load"):
        raise KeyError("mine")
    assert calls() == ["push load", "pop"]


def test_one_object_nests_in_itself(calls: Calls) -> None:
    again = rocm_perf.annotate("again")
    with again, again:
        pass
    assert calls() == ["push again", "push again", "pop", "pop"]


def test_a_function_keeps_its_name_arguments_and_result(calls: Calls) -> None:
    @rocm_perf.annotate("add")
    def add(a: int, b: int = 2) -> int:
        """Adds."""
        return a + b

    assert add(1, b=4) == 5
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert calls() == ["push add", "pop"]


def test_a_function_without_a_name_gives_its_own(calls: Calls) -> None:
    @rocm_perf.annotate()
    def step() -> None: ...

    step()
    assert calls()[0].endswith("step")
    assert calls()[0].startswith("push test_a_function_without_a_name")


def test_recursion(calls: Calls) -> None:
    @rocm_perf.annotate("f")
    def f(n: int) -> int:
        return n and f(n - 1)

    f(2)
    assert calls() == ["push f"] * 3 + ["pop"] * 3


def test_a_generator_is_in_a_range_only_while_it_runs(calls: Calls) -> None:
    @rocm_perf.annotate("batch")
    def batches() -> Iterator[int]:
        yield 1
        yield 2

    for number in batches():
        rocm_perf.mark(str(number))
    assert calls() == ["push batch", "pop", "mark 1", "push batch", "pop", "mark 2", "push batch", "pop"]


def test_closing_a_generator_closes_it_inside_its_range(calls: Calls) -> None:
    @rocm_perf.annotate("batch")
    def batches() -> Iterator[int]:
        try:
            yield 1
        finally:
            rocm_perf.mark("closed")

    generator = batches()
    next(generator)
    generator.close()  # type: ignore[attr-defined]
    assert calls() == ["push batch", "pop", "push batch", "mark closed", "pop"]


def test_async_ranges_nest(calls: Calls) -> None:
    async def nested() -> None:
        async with rocm_perf.annotate("outer"), rocm_perf.annotate("inner"):
            pass

    asyncio.run(nested())
    assert calls() == ["start outer", "start inner", f"stop {FIRST + 1}", f"stop {FIRST}"]


def test_tasks_that_take_turns_do_not_close_one_anothers_ranges(calls: Calls) -> None:
    @rocm_perf.annotate("fetch")
    async def fetch(first: asyncio.Event, then: asyncio.Event) -> int:
        first.set()
        await then.wait()
        return 3

    async def both() -> list[int]:
        a, b = asyncio.Event(), asyncio.Event()

        async def second() -> int:
            async with rocm_perf.annotate("other"):
                await a.wait()
                b.set()
                return 4

        return list(await asyncio.gather(fetch(a, b), second()))

    assert asyncio.run(both()) == [3, 4]
    assert sorted(calls()) == ["start fetch", "start other", f"stop {FIRST}", f"stop {FIRST + 1}"]
    assert calls().index(f"stop {FIRST + 1}") < calls().index(f"stop {FIRST}")  # each ends its own


def test_threads_share_an_object(calls: Calls) -> None:
    shared = rocm_perf.annotate("work")

    def work() -> None:
        for _ in range(100):
            with shared:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (calls().count("push work"), calls().count("pop")) == (400, 400)


def test_an_async_generator_is_refused() -> None:
    async def many() -> object:
        yield 1

    with pytest.raises(TypeError, match="async with"):
        rocm_perf.annotate("x")(many)


def test_a_forgotten_name_is_refused() -> None:
    with pytest.raises(TypeError, match="@annotate"):
        rocm_perf.annotate(print)  # type: ignore[arg-type]


# What a generator does with what is sent and thrown at it must be what it does undecorated.
ACTIONS = st.lists(st.sampled_from(["next", "send", "throw value", "throw key", "close"]), max_size=8)


def _echo() -> Generator[object, object, object]:
    seen: object = 0
    for _ in range(4):
        try:
            seen = yield seen
        except ValueError as error:
            seen = str(error)
    return seen


def _drive(function: Callable[[], Generator[object, object, object]], actions: list[str]) -> list[object]:
    generator = function()
    does: dict[str, Callable[[], object]] = {
        "next": lambda: next(generator),
        "send": lambda: generator.send("sent"),
        "throw value": lambda: generator.throw(ValueError("caught")),
        "throw key": lambda: generator.throw(KeyError("not caught")),
        "close": generator.close,
    }
    seen: list[object] = []
    for action in actions:
        try:
            seen.append(does[action]())
        except (StopIteration, ValueError, KeyError, TypeError) as error:
            seen.append((type(error), getattr(error, "value", str(error))))
    return seen


@given(ACTIONS)
def test_a_generator_behaves_as_without_a_range(actions: list[str]) -> None:
    open_ranges: list[bytes] = []
    library = Library("test", open_ranges.append, open_ranges.pop, print, lambda name: 0, lambda number: None)
    before, ranges._chosen = ranges._chosen, library
    try:
        assert _drive(rocm_perf.annotate("g")(_echo), actions) == _drive(_echo, actions)
    finally:
        ranges._chosen = before
    assert open_ranges == []


def chosen(tmp_path: Path, code: str = "", **environment: str) -> str:
    """What a fresh process chooses."""
    here = {name: value for name, value in os.environ.items() if name not in libraries._LISTENING}
    program = f"import rocm_perf\n{code}\nprint(rocm_perf.annotation_backend())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**here, "ROCM_PATH": str(tmp_path), "CUDA_HOME": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def all_libraries(tmp_path: Path) -> Path:
    compile_stub(tmp_path / "lib", SDK, "librocprofiler-sdk-roctx.so.1")
    compile_stub(tmp_path / "lib", ROCTX64, "libroctx64.so.4")
    compile_stub(tmp_path / "lib", NVTX, "libnvtx3interop.so.1")
    return tmp_path


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "rocprofiler-sdk-roctx"),
        ({"ROCP_TOOL_LIBRARIES": "/opt/rocm/lib/rocprofiler-sdk/librocprofiler-sdk-tool.so"}, "rocprofiler-sdk-roctx"),
        ({"HSA_TOOLS_LIB": "/opt/rocm/lib/roctracer/libroctracer_tool.so"}, "roctx64"),
        ({"NVTX_INJECTION64_PATH": "/opt/nvidia/libToolsInjection64.so"}, "nvtx"),
    ],
)  # fmt: skip
def test_the_profiler_that_listens_decides(
    all_libraries: Path, environment: dict[str, str], expected: str
) -> None:
    assert chosen(all_libraries, **environment) == expected


def test_a_library_that_is_loaded_already_is_used(all_libraries: Path) -> None:
    code = f"import ctypes; ctypes.CDLL({str(all_libraries / 'lib' / 'libroctx64.so.4')!r})"
    assert chosen(all_libraries, code) == "roctx64"


def test_the_older_library_is_used_where_the_newer_is_not(tmp_path: Path) -> None:
    compile_stub(tmp_path / "lib", ROCTX64, "libroctx64.so.4")
    assert chosen(tmp_path) == "roctx64"


def test_the_folder_of_torch_is_searched_once_torch_is_loaded(tmp_path: Path) -> None:
    torch = tmp_path / "site" / "torch"
    compile_stub(torch / "lib", ROCTX64, "libroctx64.so")
    (torch / "__init__.py").write_text("")
    assert chosen(tmp_path, "import torch", PYTHONPATH=str(torch.parent)) == "roctx64"


def test_a_library_without_the_functions_is_passed_over(tmp_path: Path) -> None:
    path = compile_stub(tmp_path, NVTX, "libroctx64.so.4")
    assert libraries.load(ROCTX64, str(path)) is None
    text = tmp_path / "libroctx64.so.1"
    text.write_text("no library")
    assert libraries.load(ROCTX64, str(text)) is None


def test_nothing_is_a_library_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_chosen", NOTHING)
    assert rocm_perf.annotation_backend() == "none"
    rocm_perf.push("a")
    rocm_perf.pop()
    rocm_perf.mark("b")
    with rocm_perf.annotate("c"):
        pass
    rocm_perf.annotate("d")(lambda: None)()


def test_only_the_standard_library_is_imported() -> None:
    program = """
import sys
before = set(sys.modules)
import rocm_perf
with rocm_perf.annotate("x"): pass
rocm_perf.torch_profile
news = {name.split(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(sorted(news))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['rocm_perf']"


def test_the_names_are_functions_not_modules() -> None:
    import rocm_perf.annotation.ranges
    import rocm_perf.torch_recording

    assert callable(rocm_perf.annotate)
    assert callable(rocm_perf.torch_profile)
    hooks = {"load_ipython_extension"}  # called by its name, not meant for people
    assert set(rocm_perf._HOMES) - hooks | {"__version__"} == set(rocm_perf.__all__)


def test_the_cpp_example_compiles_and_calls(tmp_path: Path) -> None:
    """Against a header of our own that declares what roctx.h does."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    compile_stub(tmp_path, SDK, "librocprofiler-sdk-roctx.so")
    header = tmp_path / "rocprofiler-sdk-roctx" / "roctx.h"
    header.parent.mkdir()
    header.write_text(
        'extern "C" { int roctxRangePushA(const char *); int roctxRangePop(); void roctxMarkA(const char *); }\n'
    )
    example = Path(__file__).parents[2] / "examples" / "ranges" / "ranges.cpp"
    program = tmp_path / "ranges"
    link = [f"-L{tmp_path}", "-lrocprofiler-sdk-roctx", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(
        [compiler, "-std=c++17", "-Wall", "-Werror", f"-I{tmp_path}", example, "-o", program, *link],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert "step" in done.stdout
