"""A small model and a Triton kernel on torch's caching allocator, for capture and replay. Prints the time of each part
by CUDA events, behind a sleep of the GPU, so that launches are queued and the host's way to them does not count.

`model.py half` calculates in bfloat16; `model.py same` gives every step the same input, so that what a step writes is
there already from a step before.
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + 2.0 * tl.load(y + at, mask=inside), mask=inside)


class Timer:
    def __init__(self, name: str) -> None:
        self.name = name
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def __enter__(self) -> None:
        torch.cuda._sleep(2_000_000)
        self.events[0].record()

    def __exit__(self, *_: object) -> None:
        self.events[1].record()
        self.events[1].synchronize()
        print(f"{self.name} {self.events[0].elapsed_time(self.events[1]) * 1e6:.0f} ns")


def main() -> None:
    torch.manual_seed(0)
    kind = torch.bfloat16 if "half" in sys.argv else torch.float32
    first, second = (torch.nn.Linear(width, 4096).to("cuda", kind) for width in (1024, 4096))
    x = torch.randn(8192, 1024, device="cuda", dtype=kind)
    out = torch.empty(8192, 4096, device="cuda", dtype=kind)
    with torch.no_grad():
        for _ in range(6):
            hidden = torch.nn.functional.gelu(first(x))
            with Timer("gemm"):
                wide = second(hidden)
            with Timer("softmax"):
                weights = torch.softmax(wide, dim=-1)
            if "same" not in sys.argv:
                out = torch.empty_like(weights)
            count = out.numel()
            with Timer("add_kernel"):
                add_kernel[(triton.cdiv(count, 1024),)](weights, wide, out, count, block=1024)
            if "same" not in sys.argv:
                x = out[:, :1024].contiguous()
    torch.cuda.synchronize()
    print("checksum", float(x.double().sum()))


main()
