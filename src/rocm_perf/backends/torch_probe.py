"""The torch and the JAX of a Python interpreter, without importing them: that takes seconds."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from rocm_perf.backends import tools
from rocm_perf.backends.host import read_text
from rocm_perf.backends.machine import Torch

# A spec is found without running the package.
_WHERE = "import importlib.util as u; s = u.find_spec('{}'); print(s.origin if s and s.origin else '')"
_VENDORED = ("libamdhip64", "libhsa-runtime64", "librocprofiler", "libroctracer64", "libroctx64", "librocblas",
             "libhipblaslt", "libMIOpen", "librccl", "libamd_comgr")  # fmt: skip
_SDK_PACKAGES = "_rocm_sdk_*"  # the wheels of newer releases keep ROCm beside torch


def python_of(environment: Mapping[str, str]) -> str:
    """The interpreter that `python script.py` starts; empty if there is none."""
    program = tools.Program("python", vendor=None, files=("python", "python3"))
    return tools.find_program(program, tools.path_folders(environment))


def locate(package: str, python: str, environment: Mapping[str, str]) -> Path | None:
    """The folder of the package that this interpreter would import."""
    answer = tools.ask([python, "-c", _WHERE.format(package)], environment)
    lines = answer.text.split("\n")
    origin = Path(lines[-2] if len(lines) > 1 else "")
    return origin.parent if answer.status == 0 and origin.name == "__init__.py" else None


def read_torch(folder: Path, python: str) -> Torch:
    """What torch/version.py says, and the ROCm libraries that came along."""
    text = read_text(folder / "version.py")
    return Torch(
        python=python,
        version=_value(text, "__version__"),
        hip=_value(text, "hip"),
        cuda=_value(text, "cuda"),
        vendored=_vendored(folder),
    )


def read_jax(folder: Path) -> str:
    """The release that jax/version.py says."""
    return _value(read_text(folder / "version.py"), "_version") or "of an unknown release"


def _value(text: str, name: str) -> str:
    match = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"]*)['\"]", text, re.MULTILINE)
    return match.group(1) if match else ""


def _vendored(folder: Path) -> tuple[str, ...]:
    places = [folder / "lib", *(package / "lib" for package in folder.parent.glob(_SDK_PACKAGES))]
    files = {file for place in places if place.is_dir() for file in os.listdir(place) if ".so" in file}
    return tuple(sorted({file.split(".so")[0] + ".so" for file in files if file.startswith(_VENDORED)}))
