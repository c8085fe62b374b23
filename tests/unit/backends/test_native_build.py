"""Building the tracer on first use: where it is kept, what a failing compiler says, and the real headers."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from rocm_perf.backends import native_build
from rocm_perf.backends.machine import Machine, Tool
from rocm_perf.backends.nvidia.build import LIBRARY, build, includes, library
from rocm_perf.errors import NotSupportedError, OutputError, RocmPerfError, ToolAbsentError
from tests.native import cupti as native

OUTPUT = 'while [ "$1" != -o ]; do shift; done; '


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def machine(tmp_path: Path, script: str) -> Machine:
    """With a compiler that does this."""
    file = tmp_path / "c++"
    file.write_text(f"#!/bin/sh\necho run $* >> {tmp_path / 'runs'}\n{script}\n")
    file.chmod(0o755)
    return native.machine_with(tmp_path / "libcupti.so", tmp_path / "cupti.h", str(file))


def links(tmp_path: Path) -> int:
    """How often it was asked to link: compiling a source says -c."""
    return sum(" -c " not in line for line in (tmp_path / "runs").read_text().splitlines())


def test_it_is_built_once(tmp_path: Path, cache: Path) -> None:
    here = machine(tmp_path, f'{OUTPUT}echo whole > "$2"')
    first, second = build(here), build(here)
    assert first == second == library(here)
    assert first.read_text() == "whole\n"
    assert links(tmp_path) == 1
    assert {file.name for file in cache.rglob("*") if file.is_file()} == {LIBRARY, "lock"}


def test_another_compiler_or_cupti_is_another_library(tmp_path: Path) -> None:
    here = machine(tmp_path, "true")
    places = {library(here), library(here)}
    for name in here.tools:
        tool = here.tools[name]
        for other in (
            Tool(name=name, path=tool.path, version="2"),
            Tool(name=name, path=f"{tool.path}x", version=tool.version),
        ):
            places.add(library(Machine(host="h", gpus=here.gpus, tools={**here.tools, name: other})))
    assert len(places) == 7


def test_without_a_static_libstdcxx_it_is_linked_to_the_shared_one(tmp_path: Path) -> None:
    script = f'case "$*" in *-static-libstdc++*) echo "error: no libstdc++.a" >&2; exit 1;; esac; {OUTPUT}echo x > "$2"'
    assert build(machine(tmp_path, script)).exists()
    assert links(tmp_path) == 2


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, cache: Path) -> None:
    script = "echo 'note: nothing' >&2; echo 'x.h:1: fatal error: cuda.h: No such file' >&2; exit 1"
    with pytest.raises(NotSupportedError, match=r"fatal error: cuda\.h: No such file") as caught:
        build(machine(tmp_path, script))
    assert "nothing" not in str(caught.value)
    assert not list(cache.rglob("*.so"))
    assert not list(cache.rglob("build-*"))


@pytest.mark.parametrize("script", ["exit 3", "exit 3 >&2"])
def test_a_compiler_that_fails_without_a_word(tmp_path: Path, script: str) -> None:
    with pytest.raises(NotSupportedError, match="exited 3"):
        build(machine(tmp_path, script))


def test_a_compiler_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_build, "COMPILE_SECONDS", 0.3)
    with pytest.raises(NotSupportedError, match="did not end"):
        build(machine(tmp_path, "exec sleep 30"))


@pytest.mark.parametrize("has_locks", [True, False])
def test_several_at_once_get_a_whole_library(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    if not has_locks:
        monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError("no locks available")))
    here = machine(tmp_path, f'{OUTPUT}printf ha > "$2"; sleep 0.3; printf lf >> "$2"')
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(build(here).read_text())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["half"] * 4
    assert len(list(cache.rglob("*.so"))) == 1
    assert links(tmp_path) == (1 if has_locks else 4)


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_library_that_others_could_have_written_is_not_loaded(tmp_path: Path, mode: int) -> None:
    here = machine(tmp_path, f'{OUTPUT}echo whole > "$2"')
    build(here).chmod(mode)
    with pytest.raises(NotSupportedError, match="other users can write"):
        build(here)


def test_nothing_is_built_where_others_could_replace_it(tmp_path: Path, cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(NotSupportedError, match="XDG_CACHE_HOME"):
        build(machine(tmp_path, f'{OUTPUT}echo whole > "$2"'))
    assert not (tmp_path / "runs").exists()


def test_what_is_built_is_the_users_alone_whatever_the_umask(tmp_path: Path, cache: Path) -> None:
    before = os.umask(0)
    try:
        file = build(machine(tmp_path, f'{OUTPUT}echo whole > "$2"'))
        assert build(machine(tmp_path, "exit 1")) == file
    finally:
        os.umask(before)
    made = (file, *file.parents[: len(file.relative_to(cache).parts)])
    assert {stat.S_IMODE(place.stat().st_mode) for place in made} == {0o700}


def test_a_cache_that_cannot_be_written(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(OutputError, match="XDG_CACHE_HOME"):
        build(machine(tmp_path, "true"))


@pytest.mark.parametrize(
    ("missing", "package"), [("cupti.h", "dev"), ("cupti", "library"), ("c++", "g\\+\\+")]
)
def test_what_is_missing_is_named(tmp_path: Path, missing: str, package: str) -> None:
    here = machine(tmp_path, "true")
    tools = {name: tool for name, tool in here.tools.items() if name != missing}
    with pytest.raises(ToolAbsentError, match=package):
        build(Machine(host="h", gpus=here.gpus, tools=tools))


def test_a_compiler_that_cannot_be_started(tmp_path: Path) -> None:
    here = native.machine_with(tmp_path / "libcupti.so", tmp_path / "cupti.h", str(tmp_path / "nowhere"))
    with pytest.raises(RocmPerfError):
        build(here)


@pytest.mark.parametrize(
    ("header", "cuda"),
    [
        ("cuda/include/cupti.h", "cuda/include/cuda.h"),
        ("cuda/extras/CUPTI/include/cupti.h", "cuda/include/cuda.h"),
        ("nvidia/cuda_cupti/include/cupti.h", "nvidia/cuda_runtime/include/cuda.h"),
        ("nvidia/cu13/include/cupti.h", "nvidia/cu13/include/cuda.h"),
        ("nvidia/cuda_cupti/extras/CUPTI/include/cupti.h", "nvidia/cuda_runtime/include/cuda.h"),
    ],
)
def test_where_the_headers_lie(tmp_path: Path, header: str, cuda: str) -> None:
    for name in (header, cuda):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = includes(tmp_path / header)
    assert found[0] == (tmp_path / header).parent
    assert (tmp_path / cuda).parent in found


def test_headers_at_the_root_of_the_machine() -> None:
    assert includes(Path("/nowhere/cupti.h"))[0] == Path("/nowhere")


@pytest.mark.parametrize("header", native.cupti_headers() or [None], ids=str)
@pytest.mark.native
def test_it_compiles_against_the_real_headers(header: Path | None) -> None:
    """And every record has the layout that the tracer takes it to have."""
    if header is None:
        native.header()
    assert header is not None
    native.compile_cpp(header, "-fsyntax-only", native.HERE / "layout.cpp")
    sources = native_build.sources(("common", "cupti"))
    native.compile_cpp(header, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *sources)
