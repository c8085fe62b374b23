"""flax: training a convolutional network whose gradients are compiled, and whose optimiser is not."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import random
from tests.gpu.remedies.loop import Loop, driven, run, sized

BATCH = sized(256, 4)


class Network(nn.Module):
    """Six convolutions and two dense layers."""

    dtype: jnp.dtype = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for width in (64, 64, 128, 128, 256, 256):
            x = nn.Conv(width, (3, 3), dtype=self.dtype)(x)
            x = nn.relu(nn.GroupNorm(num_groups=8, dtype=self.dtype)(x))
            if width != x.shape[-1] or width > 64:
                x = nn.avg_pool(x, (2, 2), (2, 2)) if x.shape[1] > 4 else x
        x = x.reshape(x.shape[0], -1)
        x = nn.relu(nn.Dense(512, dtype=self.dtype)(x))
        return nn.Dense(10, dtype=jnp.float32)(x)


def make(variant: str) -> Loop:
    network = Network(jnp.bfloat16 if variant.endswith("bf16") else jnp.float32)
    x = random.normal(random.key(0), (BATCH, 32, 32, 3))
    y = random.randint(random.key(1), (BATCH,), 0, 10)
    params = network.init(random.key(2), x)
    momentum, squares = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))

    def loss(params: object, x: jax.Array, y: jax.Array) -> jax.Array:
        scores = jax.nn.log_softmax(network.apply(params, x))
        return -jnp.take_along_axis(scores, y[:, None], 1).mean()

    def adam(params: object, gradient: object, momentum: object, squares: object) -> tuple[object, ...]:
        momentum = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, momentum, gradient)
        squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, gradient)
        params = jax.tree.map(lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(s) + 1e-8), params, momentum, squares)
        return params, momentum, squares

    gradients = jax.jit(jax.value_and_grad(loss))

    def train(state: tuple[object, ...], x: jax.Array, y: jax.Array) -> tuple[object, ...]:
        value, gradient = gradients(state[0], x, y)
        return (*adam(state[0], gradient, *state[1:]), value)

    if variant.startswith("jit"):
        train = jax.jit(train, donate_argnums=0)
    state: tuple[object, ...] = (params, momentum, squares)
    value: object = None

    def step() -> None:
        nonlocal state, value
        *kept, value = train(state, x, y)
        state = tuple(kept)

    return Loop(drive=driven(step), items=BATCH, synchronize=lambda: jax.block_until_ready((state, value)))


if __name__ == "__main__":
    run(make, ("base", "jit_step", "bf16", "jit_step_bf16"))
