"""The simplest proposer: `#pragma unroll 4` before every loop of the kernel, one patch per loop.

rocm-perf optimize softmax_testbed.cpp --proposer "python examples/proposers/unroll_all.py"

It knows nothing of C++: where a loop must not be unrolled, the gates say so.
"""

import json
import sys

request = json.load(sys.stdin)
lines = request["kernel"]["text"].split("\n")
patches = []
for index, line in enumerate(lines):
    if line.lstrip().startswith("for ("):
        kernel = [*lines[:index], "#pragma unroll 4", *lines[index:]]
        name = f"unroll by 4: line {request['kernel']['line'] + index}"
        patches.append({"name": name, "kernel": "\n".join(kernel)})
print(json.dumps({"schema_version": 1, "patches": patches}))
