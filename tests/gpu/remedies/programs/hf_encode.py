"""transformers: embeddings of short texts by a BERT in float32, padded to the longest that it can take."""

from __future__ import annotations

import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop
from transformers import BertConfig, BertModel

BATCH, LONGEST = sized(32, 2), sized(512, 32)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    layers, width = sized(12, 2), sized(768, 48)
    config = BertConfig(num_hidden_layers=layers, hidden_size=width, intermediate_size=4 * width)
    dtype = torch.bfloat16 if variant.startswith("bf16") else torch.float32
    model = BertModel(config).to(DEVICE, dtype).eval()
    texts = [torch.randint(5, 30_000, (BATCH, LONGEST)) for _ in range(4)]
    lengths = torch.randint(LONGEST // 16, LONGEST // 4, (4, BATCH))
    number = 0

    @torch.inference_mode()
    def step() -> None:
        nonlocal number
        tokens, length = texts[number % 4], lengths[number % 4]
        number += 1
        padded = int(length.max()) if variant.endswith("trimmed") else LONGEST
        mask = (torch.arange(padded)[None] < length[:, None]).to(DEVICE)
        hidden = model(tokens[:, :padded].to(DEVICE), attention_mask=mask.long()).last_hidden_state
        pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        torch.nn.functional.normalize(pooled, dim=1).float().cpu()

    return torch_loop(step, BATCH)


if __name__ == "__main__":
    run(make, ("base", "bf16", "trimmed", "bf16_trimmed"))
