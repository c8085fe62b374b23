"""transformers: training a GPT-2 of 12 layers in float32, with the loss read after each step."""

from __future__ import annotations

import contextlib

import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop
from transformers import GPT2Config, GPT2LMHeadModel

BATCH, LENGTH = sized(8, 2), sized(512, 16)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    if variant == "tf32":
        torch.set_float32_matmul_precision("high")
    width = sized(768, 48)
    config = GPT2Config(n_layer=sized(12, 2), n_embd=width, n_head=12, bos_token_id=1, eos_token_id=2)
    model = GPT2LMHeadModel(config).to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=variant == "bf16_fused")
    batches = [torch.randint(0, 50_000, (BATCH, LENGTH), device=DEVICE) for _ in range(4)]
    losses: list[float] = []

    def step() -> None:
        tokens = batches[len(losses) % len(batches)]
        narrow = variant in ("bf16", "bf16_fused")
        with torch.autocast(DEVICE, torch.bfloat16) if narrow else contextlib.nullcontext():
            loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())

    return torch_loop(step, BATCH)


if __name__ == "__main__":
    run(make, ("base", "bf16", "tf32", "bf16_fused"))
