"""Tests that need a real JAX: `make test-jax`."""
