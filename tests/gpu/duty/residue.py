"""What CUPTI costs a program while it records and after it was switched off, by what it recorded: microseconds of a
launch in plain CUDA and of a graph of a hundred kernels, made before or now, or of a step of the decode loop in torch
as operators and as a graph, before, while and after; and how many calls it recorded. Prints one JSON object.

    PYTHONPATH=src:. python tests/gpu/duty/residue.py [--rounds 2] [--torch] [--way WAY]...
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rocm_perf.backends.nvidia.probe import CUPTI, CUPTI_HEADER
from rocm_perf.backends.probe import probe_machine

HERE = Path(__file__).parent
NATIVE = HERE.parents[2] / "src" / "rocm_perf" / "native"
KINDS = {
    "kernels": (10,),
    "runtime calls": (5,),
    "driver calls": (4,),
    "waits": (38,),
    "events": (36,),
    "copies": (1, 22, 2),
    "overhead": (17,),
    "ranges": (12,),
}
ALL = tuple(KINDS)
CALLS = tuple(name for name in KINDS if name.endswith("calls"))
WITHOUT_CALLS = tuple(name for name in KINDS if name not in CALLS)
RUNTIME, DRIVER, RESOURCE = 2, 1, 3
Switch = Callable[[ctypes.CDLL], object]


def kinds(names: Sequence[str], on: bool) -> Switch:
    return lambda cupti: [cupti.kind(number, int(on)) for name in names for number in KINDS[name]]


def recorded(*names: str) -> tuple[Switch, Switch]:
    return kinds(names, True), kinds(names, False)


def both(*switches: Switch) -> Switch:
    return lambda cupti: [switch(cupti) for switch in switches]


def flush(cupti: ctypes.CDLL) -> object:
    return cupti.flush()


def unsubscribe(cupti: ctypes.CDLL) -> object:
    return cupti.unsubscribe()


def finalize(cupti: ctypes.CDLL) -> object:
    return cupti.finalize()


def domain(number: int) -> tuple[Switch, Switch]:
    return lambda cupti: cupti.domain(number, 1), lambda cupti: cupti.domain(number, 0)


def functions(needed: bool, on: bool) -> Switch:
    """Those that the tracer needs, or all others."""
    return lambda cupti: cupti.functions(int(needed), int(on))


def nothing(_cupti: ctypes.CDLL) -> object:
    return None


WAYS: dict[str, tuple[Switch, Switch]] = {
    "subscribed": (nothing, nothing),
    "contexts heard": domain(RESOURCE),
    "runtime calls heard": domain(RUNTIME),
    "driver calls heard": domain(DRIVER),
    **{name: recorded(name) for name in KINDS},
    "all but calls": recorded(*WITHOUT_CALLS),
    "calls chosen": (functions(needed=True, on=True), functions(needed=True, on=False)),
    "calls left out": (both(kinds(CALLS, True), functions(needed=False, on=False)), kinds(CALLS, False)),
    "all": recorded(*ALL),
    "all, flushed": (kinds(ALL, True), both(kinds(ALL, False), flush)),
    "all, unsubscribed": (kinds(ALL, True), both(kinds(ALL, False), flush, unsubscribe)),
    "all, detached": (kinds(ALL, True), both(flush, finalize)),  # graphs fail where it is switched off first
}


def library(folder: Path) -> Path:
    shared = ("-Xcompiler", "-fPIC", "-shared", f"-I{NATIVE}", str(NATIVE / "cupti" / "calls.cpp"))
    return compiled("residue.cu", folder / "residue.so", *shared)


def compiled(source: str, built: Path, *options: str) -> Path:
    """A program or library that calls CUPTI."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    tools = probe_machine().tools
    cupti, header = Path(tools[CUPTI].path), Path(tools[CUPTI_HEADER].path)
    linked = ["-Xlinker", str(cupti), "-Xlinker", f"-rpath={cupti.parent}"]
    command = [nvcc, "-O2", "-std=c++17", *options, f"-I{header.parent}", "-o", built, HERE / source, *linked]
    subprocess.run(command, check=True)
    return built


def opened(path: Path) -> ctypes.CDLL:
    cupti = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    for loop in (cupti.plain, cupti.graphs, cupti.new_graphs):
        loop.restype = ctypes.c_double
    cupti.calls.restype = ctypes.c_long
    return cupti


def measured(cupti: ctypes.CDLL, way: str, loops: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Of each loop: before, while and after it was recorded this way."""
    enter, leave = WAYS[way]

    def now() -> dict[str, float]:
        return {name: statistics.median(loop() for _ in range(7)) for name, loop in loops.items()}

    now()
    before = now()
    cupti.take_buffers()
    cupti.subscribe()
    enter(cupti)
    during = now()
    cupti.flush()
    recorded_calls = float(cupti.calls())
    leave(cupti)
    after = now()
    times = {name: [round(each[name], 3) for each in (before, during, after)] for name in loops}
    return {**times, "calls recorded": [recorded_calls]}


def plain_loops(cupti: ctypes.CDLL) -> dict[str, Callable[[], float]]:
    return {
        "plain": lambda: float(cupti.plain(8000)),
        "graphs": lambda: float(cupti.graphs(500)),
        "new graphs": lambda: float(cupti.new_graphs(500)),
    }


def torch_step() -> Callable[[], object]:
    """A step of the decode loop, which gives its sum as a tensor."""
    import torch

    sys.path.insert(0, str(HERE.parent / "cost"))
    import decode

    torch.set_grad_enabled(False)
    layers = [decode.Layer().cuda().half().eval() for _ in range(decode.LAYERS)]
    keys, values, first = (
        torch.randn(1, length, decode.WIDTH, device="cuda", dtype=torch.half)
        for length in (decode.CONTEXT, decode.CONTEXT, 1)
    )

    def step() -> torch.Tensor:
        token = first
        for layer in layers:
            token = layer(token, keys, values)
        return token.sum()

    for _ in range(20):
        step().item()
    return step


def torch_loops() -> dict[str, Callable[[], float]]:
    import torch

    step = torch_step()

    def timed(once: Callable[[], object], steps: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            once()
            torch.cuda.synchronize()
        return 1e6 * (time.perf_counter() - start) / steps

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return {"decode": lambda: timed(step, 50), "decode graph": lambda: timed(graph.replay, 200)}


def in_own_process(path: Path, way: str, of_torch: bool) -> dict[str, list[float]]:
    command = [sys.executable, __file__, "--way", way, "--library", path, *(["--torch"] if of_torch else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        return {"died": [float(done.returncode)]}
    result: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--way", choices=list(WAYS), action="append")
    parser.add_argument("--library", type=Path, help="measure one way in this process")
    args = parser.parse_args()
    if args.library:
        cupti = opened(args.library)
        (way,) = args.way
        if not args.torch:
            cupti.prepare()
        loops = torch_loops() if args.torch else plain_loops(cupti)
        print(json.dumps(measured(cupti, way, loops)), flush=True)
        return 0
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = library(Path(folder))
        for _ in range(args.rounds):
            for way in args.way or WAYS:
                results.setdefault(way, []).append(in_own_process(path, way, args.torch))
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
