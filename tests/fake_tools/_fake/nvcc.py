"""nvcc: says its version, and "compiles" into a file that records its arguments."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_VERSION = """\
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        sys.stdout.write(_VERSION)
        return 0
    sources = [Path(word) for word in arguments if word.endswith((".cu", ".cpp"))]
    if not sources:
        print(
            "nvcc fatal   : No input files specified; use option --help for more information", file=sys.stderr
        )
        return 1
    for source in sources:
        if not source.exists():
            print(f"cc1plus: fatal error: {source}: No such file or directory", file=sys.stderr)
            return 1
    output = Path(arguments[arguments.index("-o") + 1] if "-o" in arguments[:-1] else "a.out")
    output.write_text(json.dumps({"nvcc": "13.0", "argv": arguments}) + "\n")
    output.chmod(0o755)
    return 0
