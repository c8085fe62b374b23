"""The same for torch: a few matrix products on the GPU, checked."""

import sys

import torch

if not torch.cuda.is_available():
    sys.exit("torch sees no GPU")
ones = torch.ones(512, 512, device="cuda")
product = ones
for _ in range(8):
    product = ones @ product / 512
torch.cuda.synchronize()
if not torch.allclose(product, ones):
    sys.exit("the GPU computed something else than ones")
