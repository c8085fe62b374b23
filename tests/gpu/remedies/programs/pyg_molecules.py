"""torch_geometric: training a GIN on batches of small graphs, which the main process collates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool

GRAPHS = sized(4096, 64)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def molecule() -> Data:
    """Return a chain of atoms with some rings."""
    atoms = int(torch.randint(12, 38, ()))
    chain = torch.stack([torch.arange(atoms - 1), torch.arange(1, atoms)])
    rings = torch.randint(0, atoms, (2, 6))
    edges = torch.cat([chain, chain.flip(0), rings, rings.flip(0)], dim=1)
    return Data(x=torch.randn(atoms, 32), edge_index=edges, y=torch.randn(1))


def _endless(batches: Iterable[Data]) -> Iterator[Data]:
    while True:
        yield from batches


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    size = 512 if variant == "batch512" else 64
    options = (
        {"num_workers": 4, "persistent_workers": True, "pin_memory": True} if variant == "workers" else {}
    )
    molecules = [molecule() for _ in range(GRAPHS)]
    loader: Iterable[Data] = DataLoader(molecules, batch_size=min(size, GRAPHS), shuffle=True, **options)
    if variant == "collated_once":
        loader = [batch.to(DEVICE) for batch in loader]
    batches = _endless(loader)
    model = GIN(32, 128, num_layers=5, out_channels=1).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    total = 0.0

    def step() -> None:
        nonlocal total
        batch = next(batches).to(DEVICE)
        optimizer.zero_grad()
        answer = global_add_pool(model(batch.x, batch.edge_index), batch.batch, batch.num_graphs)
        loss = torch.nn.functional.mse_loss(answer.view(-1), batch.y)
        loss.backward()
        optimizer.step()
        total += loss.item()

    return torch_loop(step, min(size, GRAPHS))


if __name__ == "__main__":
    run(make, ("base", "workers", "collated_once", "batch512"))
