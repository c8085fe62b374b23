"""hipcc: takes what clang takes, and "compiles" into a file that records its arguments."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from . import settings

_SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".c", ".cu", ".s")
_TAKES_VALUE = ("-o", "-I", "-L", "-l", "-D", "-include", "-isystem", "-x", "-Xclang", "-mllvm", "-MF", "-MT")
_KNOWN = re.compile(
    r"-(O[0-3sgz]?|Ofast|g\w*|c|S|E|v|M\w*|W.*|f.*|m.*|std=.*|D.*|I.*|L.*|l.*|x|include|isystem|pthread|shared|static"
    r"|save-temps\S*|o|Xclang|pipe|w|###)|--(offload-arch|amdgpu-target|gpu-max-threads-per-block|rocm-path"
    r"|hip-link|save-temps|genco|cuda-device-only|cuda-host-only|offload-device-only|driver-mode)(=.*)?"
)
_CLANG = {5: "17.0.0", 6: "18.0.0", 7: "20.0.0", 10: "22.0.0"}


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        _print_version()
        return 0
    unknown = [word for word in arguments if word.startswith("-") and not _KNOWN.fullmatch(word)]
    for word in unknown:
        kind = "unsupported option" if word.startswith("--") else "unknown argument:"
        print(f"clang++: error: {kind} '{word}'", file=sys.stderr)
    if unknown:
        return 1
    sources = _sources(arguments)
    if not sources:
        print("clang++: error: no input files", file=sys.stderr)
        return 1
    failed = [_compile(source) for source in sources]
    if any(failed):
        return 1
    output = Path(_value(arguments, "-o") or _default(arguments, sources[0]))
    output.write_text(json.dumps({"hipcc": settings.rocm_text(), "argv": arguments}) + "\n")
    if not {"-c", "-S", "-E", "--genco"} & set(arguments):
        output.chmod(0o755)
    return 0


def _print_version() -> None:
    clang = _CLANG[settings.rocm()[0]]
    print(f"HIP version: {settings.rocm_text()}.60610-2bd1678d3d")
    print(
        f"AMD clang version {clang}git (https://github.com/ROCm/llvm-project.git roc-{settings.rocm_text()}.0)"
    )
    print("Target: x86_64-unknown-linux-gnu\nThread model: posix")
    print(f"InstalledDir: /opt/rocm-{settings.rocm_text()}.0/lib/llvm/bin")


def _sources(arguments: list[str]) -> list[Path]:
    values = {place + 1 for place, word in enumerate(arguments) if word in _TAKES_VALUE}
    words = [word for place, word in enumerate(arguments) if place not in values and not word.startswith("-")]
    return [Path(word) for word in words if Path(word).suffix in (*_SOURCES, ".o", ".a", ".so")]


def _compile(source: Path) -> bool:
    """Whether it fails: the file is not there, or says #error."""
    if not source.exists():
        print(f"clang++: error: no such file or directory: '{source}'", file=sys.stderr)
        return True
    if source.suffix not in _SOURCES:
        return False
    for number, line in enumerate(source.read_text(errors="replace").splitlines(), 1):
        if found := re.match(r"\s*#\s*error\b(.*)", line):
            print(f"{source}:{number}:2: error:{found.group(1)}\n{line}", file=sys.stderr)
            print(f"1 error generated when compiling for {settings.gpu().gfx}.", file=sys.stderr)
            return True
    return False


def _value(arguments: list[str], name: str) -> str | None:
    return arguments[arguments.index(name) + 1] if name in arguments[:-1] else None


def _default(arguments: list[str], source: Path) -> str:
    if "-c" in arguments:
        return source.with_suffix(".o").name
    return source.with_suffix(".s").name if "-S" in arguments else "a.out"
