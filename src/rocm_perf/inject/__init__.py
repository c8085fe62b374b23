"""What runs inside the user's own Python program: standard library, torch and JAX only, and Python 3.8 or newer, since
that interpreter need not have rocm-perf. This folder goes onto PYTHONPATH, where Python finds `sitecustomize`."""
