"""What the attack starts from: small valid inputs of every kind that a verb takes, each a file or a folder of files."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from rocm_perf.cli.main import main
from tests.bundle_amd import bundle, compressed
from tests.compile_amd import Compiler
from tests.fuzz import corpus

Kind = Literal["recording", "code", "workload", "counters", "context", "gpus"]
ROOT = Path(__file__).parents[3]

# A kernel, a copy, an allocation, a range and a synchronisation, a few times each.
WORKLOAD = """\
name = "small"
command = "python small.py --steps 3"
seed = 7
noise = 0.01

[kernel.gemm]
symbol = "Cijk_Alik_Bljk_BBS_BH_MT64x32x128_MI16x16x1_SN"
matrix = true
flops = {bf16 = 8.1e8}
bytes = {hbm = 25_700_000}
grid = [155648]
workgroup = [256]
vgprs = 128
lds_bytes = 32768

[kernel.add]
symbol = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, float*)"
duration_us = 3

[[thread]]
name = "main"
steps = [
  {alloc = "weights", bytes = 2_147_483_648},
  {copy = "H2D", bytes = 65_536},
  {repeat = 3, steps = [
    {push = "step"}, {launch = "gemm"}, {launch = "add"}, {sync = "stream"},
    {cpu = "load batch", us = 20.0}, {pop = true},
  ]},
]
"""
COUNTERS = {
    "input.txt": "# two passes\npmc: SQ_WAVES SQ_INSTS_VALU GRBM_COUNT\npmc: TCC_HIT_sum, TCC_MISS_sum\n",
    "input.yaml": "jobs:\n  - pmc: [SQ_WAVES, GRBM_COUNT]\n    kernel_include_regex: gemm\n"
    "    kernel_trace: true\n  - pmc:\n      - SQ_INSTS_VALU\n",
    "input.json": '{"jobs": [{"pmc": ["SQ_WAVES"], "kernel_trace": true, "kernel_iteration_range": "[1-3]"}]}',
}
CONTEXT = """{"tools": [{"name": "rocprofv3_compute", "cmd": "rocprofv3 --hip-trace --kernel-trace",
"env_vars": {"HSA_X": "1"}}, {"name": "gpu_info_power_profiler", "env_vars": {"POWER_SAMPLING_RATE": 0.1}}],
"distributed": {"launcher": "torchrun", "nnodes": 2, "nproc_per_node": 8}, "slurm": {"partition": "gpu"}}"""
EXPORTS = {
    "rocpd": ".db", "rpd": ".rpd", "perfetto": ".pftrace", "torch": ".json", "rocprofv3-csv": "", "json": ".json",
    "rocprofv3-json": ".json", "rocprof-csv": ".csv", "rocprof-json": ".json", "bundle": "",
}  # fmt: skip


@dataclass(frozen=True)
class Input:
    """A file (its name in `files` is empty) or a folder, to be laid out under `name`."""

    kind: Kind
    name: str
    files: Mapping[str, bytes]

    def holds(self, text: bytes) -> bool:
        return any(text in data for data in self.files.values())

    def lay_out(self, folder: Path) -> Path:
        """Write it below `folder`, and say where it is."""
        for name, data in self.files.items():
            file = folder / self.name / name if name else folder / self.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        path = folder / self.name
        if not self.files:
            path.mkdir()
        return path


def all_inputs(compiler: Compiler | None, *, with_specimens: bool = True) -> list[Input]:
    """Every seed; code objects only where there is a compiler, real recordings only where they are at hand."""
    recorded = {**corpus.specimens(), **_h200()} if with_specimens else {}
    plain = {**corpus.made(), **recorded}
    with tempfile.TemporaryDirectory(prefix="fuzz-seeds-") as folder:
        simulated = list(_simulated(Path(folder)))
        return [
            *(Input("recording", "input", {"": data}) for data in plain.values()),
            *simulated * max(1, len(plain) // len(simulated) // 2),  # a third of all
            *(_code(compiler) if compiler else ()),
            Input("workload", "input.toml", {"": WORKLOAD.encode()}),
            *(Input("counters", name, {"": text.encode()}) for name, text in COUNTERS.items()),
            Input("context", "input.json", {"": CONTEXT.encode()}),
            *_catalogue(),
        ]


def own_compiler(folder: Path) -> Compiler | None:
    """The compiler for AMD's chips that the development environment brings."""
    if find_spec("ziglang") is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return Compiler(folder)


def _h200() -> dict[str, bytes]:
    files = [file for file in (ROOT / "tests" / "data" / "h200").glob("*.*") if file.stat().st_size < 30_000]
    return {file.name: file.read_bytes() for file in sorted(files)}


def _simulated(folder: Path) -> Iterator[Input]:
    """One small run in every form that `export` writes."""
    workload, run = folder / "workload.toml", folder / "run"
    workload.write_text(WORKLOAD)
    _quietly("profile", "--device", "sim:MI300X", "-o", str(run), "--", str(workload))
    for form, suffix in EXPORTS.items():
        output = folder / f"as-{form}{suffix}"
        _quietly("export", str(run), "--format", form, "-o", str(output))
        yield Input("recording", "input", _tree(output))


def _quietly(*argv: str) -> None:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        code = main(argv)
    if code:
        raise RuntimeError(f"{argv} ended with {code}: {shown.getvalue()}")


def _code(compiler: Compiler) -> Iterator[Input]:
    image = compiler.compile("vector_add", "gfx942").path.read_bytes()
    packed = bundle({"gfx942": image, "gfx1100": compiler.compile("vector_add", "gfx1100").path.read_bytes()})
    for data in (image, packed, compressed(packed, 1, "zlib"), compressed(packed, 3)):
        yield Input("code", "input", {"": data})


def _catalogue() -> Iterator[Input]:
    """One of the packaged files of GPUs, as a user's own."""
    chips = ROOT / "src" / "rocm_perf" / "arch" / "gpus"
    for name in ("gfx942.toml", "gfx1100.toml"):
        yield Input("gpus", "input", {name: (chips / name).read_bytes()})


def _tree(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}
