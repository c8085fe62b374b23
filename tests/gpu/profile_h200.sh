#!/usr/bin/env bash
# Profiles two CUDA programs and a torch model on a machine with an NVIDIA GPU, and checks what is recorded against what
# the programs know of themselves. Prints one JSON with every number; exit code 1 if a check fails.
# Usage: tests/gpu/profile_h200.sh OUT_DIR [PART ...], with rocm_perf and its dependencies importable by python3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
nvcc -O3 -arch=native -o "$work/cuda_app" "$here/cuda_app.cu" -ldl
nvcc -O3 -arch=native -o "$work/softmax_exact" "$here/softmax_exact.cu"
python3 "$here/profile_h200.py" "$work" "$out/profile_h200.json" "${@:2}"
