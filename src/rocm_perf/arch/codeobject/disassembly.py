"""The instructions of a kernel with their source lines, from an LLVM disassembler that knows AMD GPUs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from rocm_perf.errors import InputError, RocmPerfError

VARIABLE = "ROCM_PERF_OBJDUMP"
_LONGEST_ARGUMENT = 100_000  # bytes; Linux allows 131,072
_TIMEOUT_S = 120
_INSTALL = f"ROCm includes llvm-objdump, as does the package llvm-19 or newer; or set {VARIABLE} to its path."

_LABEL = re.compile(r"^[0-9a-f]+ <(?P<name>.+)>:$")
_SOURCE = re.compile(r"^; (?P<file>.+):(?P<line>\d+)(?: \(.*\))?$")
_INSTRUCTION = re.compile(
    r"^\t(?P<text>\S.*?)\s*// (?P<address>[0-9A-Fa-f]+):(?P<code>(?: [0-9A-F]{8})+)(?: <.*\+0x(?P<target>[0-9a-f]+)>)?"
)
_SYMBOL_TARGET = re.compile(r"<[^+>]+>\s*$")


class NoDisassemblerError(RocmPerfError):
    """The machine has no disassembler for this code."""

    exit_code = 3


class Instruction(msgspec.Struct, frozen=True):
    """One instruction as the disassembler prints it."""

    address: int
    size_bytes: int
    text: str
    file: str | None = None
    line: int | None = None
    target: int | None = None  # address that a branch jumps to

    @property
    def mnemonic(self) -> str:
        """The first word of the text: `v_add_f32`."""
        return self.text.split(None, 1)[0]


@lru_cache(maxsize=8)
def find_disassembler(choice: str | None = None, search_path: str | None = None) -> str:
    """The disassembler to use: `choice`, else that of ROCm, else the newest llvm-objdump on the path."""
    tried = [choice] if choice else list(_candidates(search_path or os.environ.get("PATH", "")))
    for tool in tried:
        if "amdgcn" in _output([tool, "--version"], _TIMEOUT_S):
            return tool
    looked = ", ".join(tried) or "no llvm-objdump is on the path"
    why = f"none of these knows AMD GPUs: {looked}" if tried else looked
    raise NoDisassemblerError("cannot disassemble", why, _INSTALL)


def disassemble(
    image: bytes, kernels: Sequence[str], tool: str, *, timeout_s: float = _TIMEOUT_S
) -> dict[str, tuple[Instruction, ...]]:
    """The instructions of each kernel that the tool finds in a code object, by symbol."""
    return parse(listing(image, kernels, tool, timeout_s=timeout_s).splitlines())


def listing(image: bytes, functions: Sequence[str], tool: str, *, timeout_s: float = _TIMEOUT_S) -> str:
    """What the tool prints of these functions of a code object; of all, where none is named."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
        file = Path(folder) / "code.hsaco"
        file.write_bytes(image)
        return _output([tool, "-d", "-l", *_only(functions), str(file)], timeout_s)


def _only(kernels: Sequence[str]) -> list[str]:
    """The option for these kernels alone, as far as an argument can hold their names; without it, all are shown."""
    names = ",".join(name for name in kernels if "\0" not in name)
    return [f"--disassemble-symbols={names}"] if 0 < len(names.encode()) < _LONGEST_ARGUMENT else []


def parse(lines: Iterable[str]) -> dict[str, tuple[Instruction, ...]]:
    """The instructions that llvm-objdump -d -l printed, by symbol, without the padding after a kernel."""
    bodies: dict[str, list[Instruction]] = {}
    body: list[Instruction] = []
    file, line, start = None, None, 0
    for text in lines:
        if label := _LABEL.match(text):
            body = bodies.setdefault(label["name"], [])
            file, line, start = None, None, int(text.split(" ", 1)[0], 16)
        elif source := _SOURCE.match(text):
            file, line = source["file"], int(source["line"])
        elif match := _INSTRUCTION.match(text):
            body.append(_instruction(match, start, text, file, line))
    return {name: _without_padding(body) for name, body in bodies.items() if body}


def _instruction(
    match: re.Match[str], start: int, text: str, file: str | None, line: int | None
) -> Instruction:
    target = match["target"]
    to_start = target is None and bool(_SYMBOL_TARGET.search(text))
    return Instruction(
        address=int(match["address"], 16),
        size_bytes=4 * len(match["code"].split()),
        text=match["text"],
        file=file,
        line=line,
        target=start if to_start else None if target is None else start + int(target, 16),
    )


def _without_padding(body: list[Instruction]) -> tuple[Instruction, ...]:
    """The instructions without the s_nop and s_code_end that follow the last end of the program."""
    end = len(body)
    while end and body[end - 1].mnemonic in ("s_nop", "s_code_end"):
        end -= 1
    return tuple(body[:end])


def _candidates(search_path: str) -> Iterator[str]:
    rocm = os.environ.get("ROCM_PATH", "/opt/rocm")
    for folder in (Path(rocm) / "llvm" / "bin", Path(rocm) / "lib" / "llvm" / "bin"):
        if (folder / "llvm-objdump").is_file():
            yield str(folder / "llvm-objdump")
    versions: dict[int, str] = {}
    for entry in search_path.split(os.pathsep):
        for tool in Path(entry or ".").glob("llvm-objdump-*"):
            number = tool.name.rpartition("-")[2]
            if number.isdigit() and os.access(tool, os.X_OK):
                versions.setdefault(int(number), str(tool))
    yield from (versions[number] for number in sorted(versions, reverse=True))
    plain = shutil.which("llvm-objdump", path=search_path)
    if plain:
        yield plain


def _output(argv: Sequence[str], timeout_s: float) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise NoDisassemblerError(f"cannot run {argv[0]}", error.strerror or str(error), _INSTALL) from error
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"{argv[0]} did not finish in {timeout_s:.0f} s", next_step="Choose one kernel with --kernel."
        ) from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"{argv[0]} failed", lines[-1] if lines else f"exit code {done.returncode}")
    return done.stdout.decode("utf-8", "replace")
