#!/usr/bin/env bash
# Records, on a machine with an NVIDIA GPU, what tests/data/h200 holds: torch.profiler traces with torch's own totals,
# ncu in both CSV forms, and nvidia-smi samples. Usage: tests/gpu/record.sh OUT_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,sm__warps_active.avg.pct_of_peak_sustained_active
metrics=$metrics,smsp__sass_thread_inst_executed_op_fadd_pred_on.sum,lts__t_sector_hit_rate.pct,launch__registers_per_thread

nvidia-smi --query-gpu=timestamp,index,name,power.draw,clocks.sm,clocks.mem,temperature.gpu,memory.used,memory.total,utilization.gpu \
  --format=csv -lms 100 >"$out/nvidia_smi.csv" &
sampler=$!
python3 "$here/record_torch.py" "$out"
kill "$sampler"

work=$(mktemp -d)
nvcc -O3 -arch=native -lineinfo -o "$work/softmax" "$here/softmax.cu"
ncu --csv --clock-control none --metrics "$metrics" "$work/softmax" >"$out/ncu_metrics.csv"
ncu --csv --clock-control none --page raw --metrics "$metrics" "$work/softmax" >"$out/ncu_raw.csv"
ncu --csv --clock-control none --set basic "$work/softmax" >"$out/ncu_basic.csv"
rm -r "$work"
