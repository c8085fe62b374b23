"""Traces of jax.profiler (and of TensorFlow's): XPlane files, and the Chrome JSON that is written beside them."""
