"""transformers: greedy generation with a Llama of 0.4 billion parameters, as `generate` does it by default."""

from __future__ import annotations

import os

import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop
from transformers import LlamaConfig, LlamaForCausalLM

PROMPT = sized(128, 8)
NEW = int(os.environ.get("REMEDIES_NEW_TOKENS", sized(48, 4)))  # fewer where the recording would be too large
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32_000,
        hidden_size=sized(1024, 64),
        intermediate_size=sized(4096, 128),
        num_hidden_layers=sized(16, 2),
        num_attention_heads=16,
        num_key_value_heads=8,
        bos_token_id=1,
        eos_token_id=None,
        pad_token_id=0,
    )
    model = LlamaForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
    batch = 16 if variant == "batch16" else 4
    prompt = torch.randint(2, 32_000, (batch, PROMPT), device=DEVICE)
    mask = torch.ones_like(prompt)
    options = {"cache_implementation": "static"} if variant == "static_cache" else {}

    @torch.no_grad()
    def step() -> None:
        model.generate(
            prompt, attention_mask=mask, max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False, **options
        )

    return torch_loop(step, batch * NEW)


if __name__ == "__main__":
    run(make, ("base", "static_cache", "batch16"))
