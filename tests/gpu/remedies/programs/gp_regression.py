"""gpytorch: fitting an exact Gaussian process to 3,000 points, by the iterative solver that is the default there."""

from __future__ import annotations

import contextlib

import gpytorch
import torch
from tests.gpu.remedies.loop import Loop, run, sized, torch_loop

POINTS = sized(3000, 900)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Process(gpytorch.models.ExactGP):
    """A constant mean and a Matern kernel with one length for each dimension."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor, likelihood: gpytorch.likelihoods.Likelihood) -> None:
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=8))

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    x = torch.rand(POINTS, 8, device=DEVICE)
    y = torch.sin(6 * x).sum(1) + 0.1 * torch.randn(POINTS, device=DEVICE)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(DEVICE)
    model = Process(x, y, likelihood).to(DEVICE)
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def step() -> None:
        solver = contextlib.nullcontext()
        if variant == "cholesky":
            solver = gpytorch.settings.max_cholesky_size(10_000)
        elif variant == "no_preconditioner":
            solver = gpytorch.settings.max_preconditioner_size(0)
        with solver:
            optimizer.zero_grad()
            loss = -marginal(model(x), y)
            loss.backward()
        optimizer.step()

    return torch_loop(step, 1)


if __name__ == "__main__":
    run(make, ("base", "cholesky", "no_preconditioner"))
