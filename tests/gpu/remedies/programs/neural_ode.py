"""torchdiffeq: training a small neural ODE with the adaptive solver, whose step size the host decides."""

from __future__ import annotations

from itertools import pairwise

import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop
from torchdiffeq import odeint

BATCH = sized(512, 16)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Field(torch.nn.Module):
    """The derivative: two hidden layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2, 128), torch.nn.Tanh(),
            torch.nn.Linear(128, 128), torch.nn.Tanh(),
            torch.nn.Linear(128, 2),
        )  # fmt: skip

    def forward(self, _t: object, y: torch.Tensor) -> torch.Tensor:
        return self.layers(y**3)


def classic(field: Field, start: torch.Tensor, times: list[float]) -> torch.Tensor:
    """Return what rk4 gives at fixed times, without asking the GPU anything."""
    places = [start]
    for begun, ended in pairwise(times):
        wide, y, t = ended - begun, places[-1], None
        k1 = field(t, y)
        k2 = field(t, y + wide / 2 * k1)
        k3 = field(t, y + wide / 2 * k2)
        k4 = field(t, y + wide * k3)
        places.append(y + wide / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return torch.stack(places)


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    field = Field().to(DEVICE)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-3, capturable=variant == "rk4_graph")
    start = torch.randn(BATCH, 2, device=DEVICE)
    times = torch.linspace(0, 1, 10, device=DEVICE)
    whens = times.tolist()
    truth = torch.randn(10, BATCH, 2, device=DEVICE)
    solver = {"method": "dopri5", "rtol": 1e-5, "atol": 1e-6} if variant == "base" else {"method": "rk4"}

    def step() -> None:
        optimizer.zero_grad()
        graphed = variant == "rk4_graph"
        places = classic(field, start, whens) if graphed else odeint(field, start, times, **solver)
        loss = (places - truth).abs().mean()
        loss.backward()
        optimizer.step()

    if variant == "rk4_graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return torch_loop(graph.replay, BATCH)
    return torch_loop(step, BATCH)


if __name__ == "__main__":
    run(make, ("base", "rk4", "rk4_graph"))
