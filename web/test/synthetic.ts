// A made-up recording with everything a timeline can show: a training loop of any size, always the same for the same seed.

import type { Detail, Slices, Timeline, Track, TrackKind } from "../src/data";

const KERNELS: readonly (readonly [string, string, number])[] = [
  ["Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1", "Cijk_Ailk_Bljk_MT256x256x64", 310],
  ["void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)", "vectorized_elementwise_kernel", 24],
  ["void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync> >", "FmhaFwdKernel", 190],
  ["void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>", "cunn_SoftMaxForward", 46],
  ["ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 420],
  ["void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >", "reduce_kernel", 30],
  ["layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>", "layer_norm_grad_input_kernel", 38],
  ["_multi_tensor_apply_kernel<FusedAdamMathFunctor<float> >", "_multi_tensor_apply_kernel", 150],
];
const CALLS = ["hipLaunchKernel", "hipMemcpyAsync", "hipStreamSynchronize", "hipEventRecord"];
const OPERATORS = ["aten::linear", "aten::scaled_dot_product_attention", "aten::layer_norm", "aten::add", "Optimizer.step#AdamW.step"];
const CAUSES = ["host sync", "other host calls", "launch latency", "collective"];
const PHASES = ["before", "start-up", "steady", "end"];
const RANGES = ["forward", "backward", "optimizer"];

/** Numbers between 0 and 1, the same in every run (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Slices from rows of [start, end, name, depth]. */
export function slicesOf(rows: readonly (readonly [number, number, number, number?])[], details: Detail[] = []): Slices {
  return {
    start: Float64Array.from(rows, (each) => each[0]),
    end: Float64Array.from(rows, (each) => each[1]),
    name: Uint32Array.from(rows, (each) => each[2]),
    depth: Uint8Array.from(rows, (each) => each[3] ?? 0),
    count: new Uint32Array(rows.length).fill(1),
    busy: Float64Array.from(rows, (each) => each[1] - each[0]),
    onPath: new Uint8Array(rows.length),
    details,
  };
}

export function trackOf(kind: TrackKind, group: string, title: string, slices: Slices): Track {
  return { kind, group, title, unit: "", slices, at: new Float64Array(0), value: new Float64Array(0) };
}

export function counterOf(group: string, title: string, unit: string, readings: readonly (readonly [number, number])[]): Track {
  const track = trackOf("counter", group, title, slicesOf([]));
  return { ...track, unit, at: Float64Array.from(readings, (each) => each[0]), value: Float64Array.from(readings, (each) => each[1]) };
}

export interface Wish {
  kernels: number; // of each GPU
  gpus?: number;
  seed?: number;
  names?: string[]; // for kernels in place of the usual ones
}

/** The whole recording. */
export function synthetic({ kernels, gpus = 2, seed = 1, names: own }: Wish): Timeline {
  const next = random(seed);
  const kinds = own ? own.map((name) => [name, name, 100] as const) : KERNELS;
  const names = [...kinds.map((each) => each[0]), ...CALLS, ...OPERATORS, ...CAUSES, ...PHASES, ...RANGES];
  const labels = [...kinds.map((each) => each[1]), ...names.slice(kinds.length)];
  const nameOf = (text: string): number => names.indexOf(text);
  const tracks: Track[] = [];
  const flows: [number, number, number, number][] = [];
  const perStep = Math.max(8, Math.round(kernels / 24));
  let length = 0;
  let steps: number[] = [];
  for (let gpu = 0; gpu < gpus; gpu += 1) {
    const queue: [number, number, number][] = [];
    const gaps: [number, number, number][] = [];
    const copies: [number, number, number][] = [];
    const calls: [number, number, number, number][] = [];
    const ranges: [number, number, number, number][] = [];
    const grid: number[] = [];
    const path: number[] = [];
    steps = [];
    let now = 40_000;
    for (let kernel = 0; kernel < kernels; kernel += 1) {
      const place = kernel % perStep;
      if (place === 0) {
        const idle = 30_000 + next() * 60_000;
        gaps.push([now, now + idle, nameOf(CAUSES[Math.floor(next() * CAUSES.length)]!)]);
        now += idle;
        steps.push(now - idle);
        copies.push([now - idle * 0.8, now - idle * 0.3, nameOf("hipMemcpyAsync")]);
      }
      const which = place === perStep - 1 ? kinds.length - 1 : Math.floor(next() * Math.max(1, kinds.length - 1));
      const spent = Math.round(kinds[which]![2] * 1000 * (0.7 + 0.6 * next()));
      const launched = Math.max(0, now - 26_000 - next() * 9000);
      const begins = calls.length > 0 ? Math.max(launched, calls[calls.length - 1]![1] + 400) : launched;
      const operator = nameOf(OPERATORS[which % OPERATORS.length]!);
      calls.push([begins, begins + 5200, operator, 0], [begins + 900, begins + 4700, nameOf("hipLaunchKernel"), 1]);
      flows.push([gpu, calls.length - 1, gpu, queue.length]);
      queue.push([now, now + spent, which]);
      grid.push(256 * (1 + Math.floor(next() * 64)));
      path.push(next() < 0.7 ? 1 : 0);
      const pause = next() < 0.06 ? 8000 + next() * 30_000 : 400 + next() * 900;
      if (pause > 5000) gaps.push([now + spent, now + spent + pause, nameOf(CAUSES[Math.floor(next() * CAUSES.length)]!)]);
      now += spent + pause;
    }
    steps.forEach((at, step) => {
      const end = steps[step + 1] ?? now;
      const cut = [at, at + (end - at) * 0.34, at + (end - at) * 0.85, end];
      RANGES.forEach((range, part) => ranges.push([cut[part]!, cut[part + 1]!, nameOf(range), 0]));
    });
    length = Math.max(length, now + 50_000);
    const details: Detail[] = [
      { label: "Grid", unit: "", isText: false, values: Float64Array.from(grid) },
      { label: "Shared memory", unit: "B", isText: false, values: Float64Array.from(grid, (each) => each * 8) },
    ];
    const slices = slicesOf(queue, details);
    slices.onPath.set(path);
    tracks.push(trackOf("queue", `GPU ${gpu}`, "queue 1, stream 0", slices));
    tracks.push(trackOf("gaps", `GPU ${gpu}`, "idle, by cause", slicesOf(gaps)));
    tracks.push(trackOf("copies", `GPU ${gpu}`, "copies, queue 1", slicesOf(copies)));
    tracks.push(counterOf(`GPU ${gpu}`, "power", "W", readings(length, 400, (at) => 420 + 230 * Math.sin(at * 40) ** 2 + 60 * next())));
    tracks.push(counterOf(`GPU ${gpu}`, "clock", "MHz", readings(length, 400, (at) => 1900 + 180 * Math.sin(at * 13) + 20 * next())));
    tracks.push(trackOf("thread", `Process ${4711 + gpu}`, `thread ${4711 + gpu} (python)`, slicesOf(calls)));
    tracks.push(trackOf("ranges", `Process ${4711 + gpu}`, "ranges, thread 1", slicesOf(ranges)));
  }
  const cuts = [0, steps[0]!, steps[3] ?? steps[0]!, length - 50_000, length];
  const phases = PHASES.map((phase, part) => [cuts[part]!, cuts[part + 1]!, nameOf(phase)] as const);
  const perGpu = tracks.length / gpus;
  const first = tracks[0]!.slices;
  const onPath = [...first.start.keys()].filter((slice) => first.onPath[slice] === 1);
  const path = slicesOf(onPath.map((slice) => [first.start[slice]!, first.end[slice]!, first.name[slice]!] as const));
  path.onPath.fill(1);
  tracks.push(trackOf("path", "Recording", "critical path", path));
  tracks.push(trackOf("phases", "Recording", "phases", slicesOf(phases)));
  return {
    beginNs: "1791024000000000000",
    lengthNs: length,
    names,
    labels,
    tracks,
    flows: {
      fromTrack: Uint32Array.from(flows, (each) => each[0] * perGpu + 5),
      fromSlice: Uint32Array.from(flows, (each) => each[1]),
      toTrack: Uint32Array.from(flows, (each) => each[2] * perGpu),
      toSlice: Uint32Array.from(flows, (each) => each[3]),
    },
    steps: Float64Array.from(steps),
    judged: [cuts[2]!, cuts[3]!],
    thinned: null,
    notes: [],
  };
}

function readings(length: number, count: number, value: (share: number) => number): [number, number][] {
  return Array.from({ length: count }, (_, each) => [(each / (count - 1)) * length, value(each / count)]);
}
