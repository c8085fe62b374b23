"""Our sampler beside nvidia-smi on a real GPU, while torch multiplies matrices: power, clocks, memory and energy must
agree, and the sampler must be light, on time and quick to stop. Needs torch and nvidia-smi.

python tests/gpu/sampler_check.py [--seconds 10] [-o OUT.json]
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

INTERVAL_S = 0.1
FIELDS = (
    "power.draw.instant",
    "power.draw.average",
    "clocks.sm",
    "clocks.mem",
    "memory.used",
    "temperature.gpu",
)
WORK = """
import sys, time, torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
end = time.monotonic() + float(sys.argv[1])
count = 0
while time.monotonic() < end:
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    count += 20
print(count)
"""


def machine():
    """What the sampler needs to know of it: the vendor and the GPUs."""
    from rocm_perf.backends.probe import probe_machine

    return probe_machine()


def work(seconds):
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(seconds)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def theirs(text):
    """Columns of nvidia-smi's loop, by field."""
    rows = [row for row in csv.reader(io.StringIO(text)) if len(row) == len(FIELDS)]
    return {
        name: [float(row[at]) for row in rows if row[at].strip().replace(".", "", 1).isdigit()]
        for at, name in enumerate(FIELDS)
    }


def ours(path):
    """Columns of our file for GPU 0, by name, and its two lines of JSON."""
    lines = path.read_text().splitlines()
    about, account = json.loads(lines[1][1:]), json.loads(lines[-1][1:])
    rows = [row for row in csv.DictReader(lines[2:-1]) if row["gpu"] == "0"]
    columns = {name: [float(row[name]) for row in rows if row[name]] for name in rows[0]}
    return columns, about, account


def integral(times_ns, values):
    readings = zip(times_ns, values, strict=True)
    return sum((p0 + p1) / 2 * (t1 - t0) / 1e9 for (t0, p0), (t1, p1) in pairwise(readings))


def percent(value, reference):
    return round(100 * (value - reference) / reference, 2)


def beside(value, reference):
    return {"rocm-perf": round(value, 2), "nvidia-smi": round(reference, 2)}


def busy(values):
    """The readings while the GPU works: those above half of the highest."""
    return [value for value in values if value > max(values) / 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()

    from rocm_perf.collect.request.request import Sampling
    from rocm_perf.collect.sampling.samplers import sampling

    folder = Path(tempfile.mkdtemp())
    work(1)  # the first start compiles and loads
    start = time.perf_counter()
    alone = work(args.seconds)
    loop = subprocess.Popen(
        [
            "nvidia-smi",
            "-i",
            "0",
            f"--query-gpu={','.join(FIELDS)}",
            "--format=csv,noheader,nounits",
            "-lms",
            "100",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with sampling(Sampling(metrics=("power", "memory"), interval_s=INTERVAL_S), folder, machine()) as sampler:
        began = time.perf_counter()
        count = work(args.seconds)
        ended = time.perf_counter()
    stop_s = time.perf_counter() - ended
    loop.terminate()
    other = theirs(loop.communicate()[0])
    with sampling(
        Sampling(metrics=("power", "memory"), interval_s=INTERVAL_S), Path(tempfile.mkdtemp()), machine()
    ):
        sampled_only = work(args.seconds)
    mine, about, account = ours(folder / "samples.csv")

    times = [int(value) for value in mine["time_ns"]]
    counted = mine["energy_j"][-1] - mine["energy_j"][0] if mine["energy_j"] else None
    integrated = integral(times, mine["power_w"])
    steps = [(later - earlier) / 1e6 for earlier, later in pairwise(times[:-1])]
    ideal = (times[-2] - times[0]) / 1e9 / INTERVAL_S  # the last reading is that of the stop
    power, reference = (
        statistics.mean(busy(mine["power_w"])),
        statistics.mean(busy(other["power.draw.instant"])),
    )
    result = {
        "gpu": about["gpus"][0]["name"],
        "source": about["source"],
        "readings": len(times),
        "nvidia_smi_readings": len(other["power.draw.instant"]),
        "busy_power_w": {**beside(power, reference), "difference_percent": percent(power, reference)},
        "peak_power_w": beside(max(mine["power_w"]), max(other["power.draw.instant"])),
        "sm_clock_mhz": beside(statistics.median(mine["clock_mhz"]), statistics.median(other["clocks.sm"])),
        "memory_clock_mhz": beside(max(mine["memory_clock_mhz"]), max(other["clocks.mem"])),
        "peak_memory_mib": beside(max(mine["vram_used_bytes"]) / 2**20, max(other["memory.used"])),
        "temperature_c": beside(max(mine["temperature_c"]), max(other["temperature.gpu"])),
        "energy_j": {
            "integrated": round(integrated, 1),
            "counter": None if counted is None else round(counted, 1),
            "difference_percent": None if not counted else percent(integrated, counted),
        },
        "interval_ms": {
            "median": round(statistics.median(steps), 3),
            "shortest": round(min(steps), 3),
            "longest": round(max(steps), 3),
            "drift_ticks": round(len(times) - 2 + account["missed"] - ideal, 3),
            "missed": account["missed"],
        },
        "read_ms": {"mean": account["read_mean_ns"] / 1e6, "longest": account["read_longest_ns"] / 1e6},
        "sampler_start_cpu_s": account["start_cpu_s"],
        "sampler_cpu_percent_of_a_core": round(100 * account["cpu_s"] / (ended - began), 2),
        "stop_s": round(stop_s, 3),
        "matmuls": {"alone": alone, "sampled_beside_nvidia_smi": count, "sampled": sampled_only},
        "summary": sampler.summary,
        "notices": sampler.notices,
        "seconds": round(time.perf_counter() - start, 1),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if args.output:
        args.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
