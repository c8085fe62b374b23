"""A training loop in JAX whose work is known: prints what it did and how long its steps took, as one line of JSON."""

from __future__ import annotations

import json
import time

import jax
import jax.numpy as jnp

STEPS, ROWS, WIDTH = 20, 2048, 4096
PRODUCTS = 3  # of a step: forward, and the gradients of the data and of the weights


@jax.jit
def step(weights: jax.Array, data: jax.Array) -> tuple[jax.Array, jax.Array]:
    """One layer, its gradients, and a new batch made of the gradient of the old one."""

    def loss(weights: jax.Array, data: jax.Array) -> jax.Array:
        with jax.named_scope("layer0"):
            hidden = jnp.tanh(data @ weights)
        return (hidden.astype(jnp.float32) ** 2).sum()

    for_weights, for_data = jax.grad(loss, (0, 1))(weights, data)
    return weights - 0.001 * for_weights, data - 0.001 * for_data


def main() -> None:
    weights = jnp.full((WIDTH, WIDTH), 1e-3, jnp.bfloat16)
    data = jnp.ones((ROWS, WIDTH), jnp.bfloat16)
    jax.block_until_ready(step(weights, data))
    times = []
    for number in range(STEPS):
        begun = time.perf_counter()
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            weights, data = step(weights, data)
            jax.block_until_ready((weights, data))
        times.append(time.perf_counter() - begun)
    device = jax.devices()[0]
    print(json.dumps({
        "jax": jax.__version__, "device": device.device_kind, "steps": STEPS,
        "flops_a_step": PRODUCTS * 2 * ROWS * WIDTH * WIDTH, "times_s": times,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
