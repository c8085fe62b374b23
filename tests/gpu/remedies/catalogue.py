"""The programs, their variants, and what an expert would say first of each, written before any of them was recorded."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

MODULES = "tests.gpu.remedies.programs"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program of `programs/`, the remedies that its other variants apply, and how many steps are recorded.

    Nobody looks at the answers for a program that is `kept_back` before the others are done. `counters`: recorded with
    the default options, which read counters after the trace where that is short.
    """

    name: str
    libraries: tuple[str, ...]
    expert: str
    remedies: dict[str, str] = field(default_factory=dict)  # variant -> what it changes
    steps: int  # recorded by CUPTI
    torch_steps: int = 0  # recorded by torch.profiler
    kept_back: bool = False
    counters: bool = False
    processes: int = 1
    torch_environment: dict[str, str] = field(default_factory=dict)  # keeps what torch.profiler writes small

    @property
    def variants(self) -> tuple[str, ...]:
        return ("base", *self.remedies)

    def command(self, *options: str) -> list[str]:
        """Return what runs the program."""
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(self.processes)]
        return [
            sys.executable,
            *(launcher if self.processes > 1 else []),
            *("-m", f"{MODULES}.{self.name}"),
            *options,
        ]


PROGRAMS = (
    Program(
        name="hf_generate",
        libraries=("torch", "transformers"),
        expert="Some 300 tiny kernels for each token: launching them takes the time. Capture a token in a CUDA graph "
        "(static cache, compiled), or generate for more prompts at once.",
        remedies={
            "static_cache": "static cache, whose forward pass generate() compiles with CUDA graphs",
            "batch16": "16 prompts at once instead of 4",
        },
        steps=2,
        torch_steps=1,
        torch_environment={"REMEDIES_NEW_TOKENS": "8"},
    ),
    Program(
        name="hf_train",
        libraries=("torch", "transformers"),
        expert="Matrix products in plain float32 fill the time: bf16 autocast, or at least TF32.",
        remedies={
            "bf16": "autocast to bf16",
            "tf32": "float32 products in TF32",
            "bf16_fused": "autocast to bf16, and the fused AdamW",
        },
        steps=10,
        torch_steps=3,
        kept_back=True,
    ),
    Program(
        name="hf_encode",
        libraries=("torch", "transformers"),
        expert="Matrix products in plain float32 fill the time: bf16. (Most of the rows are padding, which only the "
        "program's author can know.)",
        remedies={
            "bf16": "the model in bf16",
            "trimmed": "padded to the longest text of the batch instead of 512",
            "bf16_trimmed": "both",
        },
        steps=15,
        torch_steps=5,
        kept_back=True,
    ),
    Program(
        name="tv_loader",
        libraries=("torch", "torchvision"),
        expert="The GPU waits while the main process prepares images: give the DataLoader workers.",
        remedies={
            "workers": "DataLoader(num_workers=8)",
            "workers_pinned": "DataLoader(num_workers=14, pin_memory=True)",
        },
        steps=8,
        torch_steps=3,
    ),
    Program(
        name="tv_resnet",
        libraries=("torch", "torchvision"),
        expert="Convolutions and normalisation of a float32 network in NCHW fill the time: bf16 autocast with "
        "channels_last.",
        remedies={
            "bf16": "autocast to bf16",
            "channels_last": "channels_last",
            "bf16_channels_last": "both",
        },
        steps=12,
        torch_steps=3,
        kept_back=True,
    ),
    Program(
        name="pyg_molecules",
        libraries=("torch", "torch_geometric"),
        expert="The host sets the pace: it collates each batch of small graphs itself, and launches kernels that are "
        "shorter than their launches. Collate in workers or once; larger batches.",
        remedies={
            "workers": "DataLoader(num_workers=4, pin_memory=True)",
            "collated_once": "batches that are collated once, and stay on the GPU",
            "batch512": "512 graphs in a batch instead of 64",
        },
        steps=40,
        torch_steps=8,
    ),
    Program(
        name="gp_regression",
        libraries=("torch", "gpytorch"),
        expert="The iterative solver launches many small kernels and reads results back between them: at this size, "
        "use the Cholesky decomposition.",
        remedies={
            "cholesky": "max_cholesky_size(10_000): one Cholesky decomposition instead of conjugate gradients",
            "no_preconditioner": "max_preconditioner_size(0): no pivoted Cholesky preconditioner",
        },
        steps=6,
        torch_steps=2,
    ),
    Program(
        name="lightning_mlp",
        libraries=("torch", "pytorch-lightning"),
        expert="The GPU waits for the host, which puts each batch together row by row and launches tiny kernels: keep "
        "the table on the GPU, take larger batches, use a fused optimiser.",
        remedies={
            "on_gpu": "batches cut out of tensors on the GPU instead of a DataLoader",
            "on_gpu_fused": "the same, and the fused Adam",
            "batch4096": "4,096 rows in a batch instead of 256",
        },
        steps=60,
        torch_steps=8,
    ),
    Program(
        name="neural_ode",
        libraries=("torch", "torchdiffeq"),
        expert="The host sets the pace: hundreds of tiny kernels, and the adaptive solver reads its error back in each "
        "step. Use a solver with fixed steps, and capture the training step in a CUDA graph.",
        remedies={
            "rk4": "the solver rk4 with fixed steps",
            "rk4_graph": "rk4 written out (no graph can hold torchdiffeq's checks), the training step one CUDA graph",
        },
        steps=6,
        torch_steps=2,
        kept_back=True,
    ),
    Program(
        name="cupy_options",
        libraries=("cupy",),
        expert="Some 25 elementwise kernels that each go through memory in float64: fuse them into one; float32.",
        remedies={
            "fused": "one ElementwiseKernel",
            "float32": "float32 instead of float64",
            "fused_float32": "both",
        },
        steps=20,
        counters=True,
    ),
    Program(
        name="cupy_histogram",
        libraries=("cupy",),
        expert="The GPU stands still while NumPy makes the histogram on the host, after a copy to pageable memory: "
        "make it on the GPU.",
        remedies={
            "on_gpu": "cupy.histogram, and only the counts are copied",
            "pinned": "the copy goes to pinned memory",
        },
        steps=15,
        kept_back=True,
        counters=True,
    ),
    Program(
        name="numpyro_svi",
        libraries=("jax", "numpyro"),
        expert="Each update is a handful of tiny kernels, and the host waits for the loss before it launches the next: "
        "put many updates into one lax.scan.",
        remedies={
            "scan": "100 updates in one jitted lax.scan",
            "loss_unread": "the loss stays on the GPU",
        },
        steps=60,
        kept_back=True,
    ),
    Program(
        name="flax_train",
        libraries=("jax", "flax"),
        expert="Hundreds of tiny kernels of an optimiser that is not compiled, launched one by one: jit the whole "
        "training step.",
        remedies={
            "jit_step": "the whole training step jitted, its state donated",
            "bf16": "the network in bf16",
            "jit_step_bf16": "both",
        },
        steps=12,
    ),
    Program(
        name="triton_matmul",
        libraries=("torch", "triton"),
        expert="One matrix product far from the peak of the tensor cores: its 32x32 tiles are too small; larger tiles, "
        "or cuBLAS.",
        remedies={
            "tiles": "tiles of 128x128x64, 8 warps, 3 stages",
            "wide_tiles": "tiles of 128x256x64, 8 warps, 3 stages",
            "cublas": "torch.matmul",
        },
        steps=40,
        torch_steps=20,
        counters=True,
    ),
    Program(
        name="triton_columns",
        libraries=("torch", "triton"),
        expert="A softmax whose loads lie 256 KiB apart: each fetches a sector for 4 bytes. Let one program take "
        "neighbouring columns.",
        remedies={
            "neighbours8": "8 neighbouring columns for each program",
            "neighbours32": "32 neighbouring columns for each program",
            "torch": "torch.softmax",
        },
        steps=40,
        torch_steps=20,
        kept_back=True,
        counters=True,
    ),
    Program(
        name="ddp_two",
        libraries=("torch", "nccl"),
        expert="A hundred all-reduces, one for each parameter, after backward and one after the other: put the "
        "gradients into buckets, and overlap them with backward (DistributedDataParallel).",
        remedies={
            "one_bucket": "one all-reduce of all gradients",
            "one_bucket_bf16": "the same, in bf16",
            "ddp": "DistributedDataParallel: buckets, beside backward",
        },
        steps=6,
        torch_steps=2,
        kept_back=True,
        processes=2,
    ),
)


def program_named(name: str) -> Program:
    """Return the program of that name."""
    return next(program for program in PROGRAMS if program.name == name)
