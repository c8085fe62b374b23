"""numpyro: variational inference of a logistic regression, update by update, with the loss read each time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import random
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from tests.gpu.remedies.loop import Loop, driven, run, sized

ROWS, COLUMNS, SCANNED = sized(20_000, 100), 64, sized(100, 5)


def model(x: jax.Array, y: jax.Array) -> None:
    weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([COLUMNS]).to_event(1))
    bias = numpyro.sample("bias", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", ROWS):
        numpyro.sample("y", dist.Bernoulli(logits=x @ weights + bias), obs=y)


def make(variant: str) -> Loop:
    x = random.normal(random.key(0), (ROWS, COLUMNS))
    y = (x[:, :5].sum(1) > 0).astype(jnp.int32)
    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO())
    state = svi.init(random.key(1), x, y)
    losses: list[object] = []
    update = jax.jit(svi.update)

    @jax.jit
    def scanned(state: object, x: jax.Array, y: jax.Array) -> object:
        return jax.lax.scan(lambda state, _: svi.update(state, x, y), state, length=SCANNED)

    def step() -> None:
        nonlocal state
        if variant == "scan":
            state, many = scanned(state, x, y)
            losses[:] = [many]
        else:
            state, loss = update(state, x, y)
            losses[:] = [float(loss) if variant == "base" else loss]

    items = SCANNED if variant == "scan" else 1
    return Loop(drive=driven(step), items=items, synchronize=lambda: jax.block_until_ready((state, losses)))


if __name__ == "__main__":
    run(make, ("base", "scan", "loss_unread"))
