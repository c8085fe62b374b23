#!/usr/bin/env bash
# Records the planted limits with `rocm-perf profile --deep` on a machine with an NVIDIA GPU, nvcc and ncu, and leaves the
# recordings (without the analyses), what was said, and the time that each took. About four minutes on an H200 (estimated).
# Usage: tests/gpu/limits/record.sh OUT_DIR [CASE ...], with rocm_perf and its dependencies importable by python3.
# Without cases: every kernel of one run of all cases, and four cases alone, as a user would record them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
export PYTHONPATH="$root/src${PYTHONPATH:+:$PYTHONPATH}"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

nvcc -std=c++17 -arch=native -O3 -lineinfo --threads 4 -o "$work/limits" \
  "$here/memory.cu" "$here/arithmetic.cu" "$here/blocks.cu" "$here/main.cu"
ncu --version | tail -1 >"$out/ncu_version.txt"

# recorded NAME OPTION... -- COMMAND...: a recording in OUT_DIR/NAME.tar.xz, with the answer and the words said beside it.
recorded() {
  local name=$1 begin=$SECONDS code=0
  shift
  timeout 240 python3 -m rocm_perf profile --deep --json -o "$work/$name" "$@" \
    </dev/null >"$work/$name.json" 2>"$out/$name.said.txt" || code=$?
  echo "$name exit $code after $((SECONDS - begin)) s" | tee -a "$out/times.txt"
  xz -T0 -c "$work/$name.json" >"$out/$name.json.xz"
  if [[ -d $work/$name ]]; then
    tar -C "$work" -cf - --no-wildcards-match-slash --exclude="$name/*.json" "$name" | xz -T0 >"$out/$name.tar.xz"
    find "$work/$name" -name ncu.csv -exec head -c 4000 {} \; >"$out/$name.ncu_head.txt"
  fi
}

if [[ $# -gt 0 ]]; then
  for name in "$@"; do recorded "$name" -- "$work/limits" once "$name"; done
else
  # The user's own expression replaces the kernels that matter: each case is launched once, and each is counted.
  recorded all --kernel-include-regex '^(?!fill)' -- "$work/limits" once
  mapfile -t cases < <("$work/limits" list | cut -f1 | awk 'NR % 12 == 1')
  for name in "${cases[@]:0:4}"; do recorded "$name" -- "$work/limits" once "$name"; done
fi
