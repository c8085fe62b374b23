"""The instructions of NVIDIA kernels with their source lines, from nvdisasm: the CUDA toolkit has it, and so does the
wheel of Triton."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from rocm_perf.arch.codeobject.disassembly import Instruction, NoDisassemblerError
from rocm_perf.errors import InputError

VARIABLE = "ROCM_PERF_NVDISASM"
_TIMEOUT_S = 120.0
_INSTALL = (
    f"The CUDA toolkit includes nvdisasm, as does the Python package triton; or set {VARIABLE} to its path."
)

_SECTION = re.compile(r"^\.text\.(?P<name>\S+):$")
_LABEL = re.compile(r"^(?P<name>\.L\w*):")
_INSTRUCTION = re.compile(r"^\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>[^;]*?)\s*;")
_SOURCE = re.compile(r'^\s*//## File "(?P<file>[^"]+)", line (?P<line>\d+)')
_TARGET = re.compile(r"`\((?P<label>\.L\w*)\)")
_INSTRUCTION_BYTES = 16


@lru_cache(maxsize=8)
def find_nvdisasm(choice: str | None = None, search_path: str | None = None) -> str:
    """The nvdisasm to use: `choice`, else that of the toolkit, on the path or of Triton."""
    tried = [choice] if choice else list(_candidates(search_path or os.environ.get("PATH", "")))
    for tool in tried:
        if os.access(tool, os.X_OK) and os.path.isfile(tool):
            return tool
    looked = (
        f"{choice} cannot be run"
        if choice
        else "nvdisasm is neither in CUDA_HOME, nor on the path, nor beside Triton"
    )
    raise NoDisassemblerError("cannot disassemble", looked, _INSTALL)


def disassemble(
    image: bytes, symbols: Mapping[str, int], tool: str, *, timeout_s: float = _TIMEOUT_S
) -> dict[str, tuple[Instruction, ...]]:
    """The instructions of some kernels of a cubin, which are given with the numbers of their symbols."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
        file = Path(folder) / "code.cubin"
        file.write_bytes(image)
        numbers = ",".join(map(str, symbols.values()))
        argv = [tool, "-c", "-g", *(["-fun", numbers] if numbers else []), str(file)]
        listing = _output(argv, timeout_s)
    return parse(listing.splitlines())


def parse(lines: Iterable[str]) -> dict[str, tuple[Instruction, ...]]:
    """The instructions that nvdisasm -c -g printed, by symbol."""
    bodies: dict[str, list[Instruction]] = {}
    labels: dict[str, int] = {}
    waiting: list[str] = []  # labels in front of an instruction
    body: list[Instruction] | None = None
    file, line = None, None
    for text in lines:
        if section := _SECTION.match(text):
            body, file, line = bodies.setdefault(section["name"], []), None, None
        elif label := _LABEL.match(text):
            waiting.append(label["name"])
        elif source := _SOURCE.match(text):
            file, line = source["file"], int(source["line"])
        elif body is not None and (match := _INSTRUCTION.match(text)):
            address = int(match["address"], 16)
            labels.update(dict.fromkeys(waiting, address))
            waiting.clear()
            body.append(
                Instruction(
                    address=address,
                    size_bytes=_INSTRUCTION_BYTES,
                    text=_bare(match["text"]),
                    file=file,
                    line=line,
                )
            )
    return {name: tuple(_with_targets(body, labels)) for name, body in bodies.items() if body}


def _bare(text: str) -> str:
    """The instruction without its predicate: `@!P0 BRA (.L_x_1)` -> `BRA (.L_x_1)`."""
    return text.partition(" ")[2].lstrip() if text.startswith("@") else text


def _with_targets(body: Iterable[Instruction], labels: Mapping[str, int]) -> Iterator[Instruction]:
    for entry in body:
        target = _TARGET.search(entry.text)
        if target is None or target["label"] not in labels:
            yield entry
        else:
            yield Instruction(
                address=entry.address,
                size_bytes=entry.size_bytes,
                text=entry.text,
                file=entry.file,
                line=entry.line,
                target=labels[target["label"]],
            )


def _candidates(search_path: str) -> Iterator[str]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield str(Path(home) / "bin" / "nvdisasm")
    if found := shutil.which("nvdisasm", path=search_path):
        yield found
    if compiler := shutil.which("nvcc", path=search_path):
        yield str(Path(compiler).resolve().parent / "nvdisasm")
    yield "/usr/local/cuda/bin/nvdisasm"
    yield from _of_triton(search_path)


def _of_triton(search_path: str) -> Iterator[str]:
    """That of the Triton which this Python has, or the one that the first Python on the path has."""
    inside = Path("backends", "nvidia", "bin", "nvdisasm")
    spec = find_spec("triton")
    if spec is not None and spec.origin:
        yield str(Path(spec.origin).parent / inside)
    if python := shutil.which("python3", path=search_path):
        prefix = Path(python).parent.parent
        yield from (
            str(folder / "triton" / inside) for folder in sorted(prefix.glob("lib/python3.*/*-packages"))
        )


def _output(argv: list[str], timeout_s: float) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise NoDisassemblerError(f"cannot run {argv[0]}", error.strerror or str(error), _INSTALL) from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{argv[0]} did not finish in {timeout_s:.0f} s") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"{argv[0]} failed", lines[-1] if lines else f"exit code {done.returncode}")
    return done.stdout.decode("utf-8", "replace")
