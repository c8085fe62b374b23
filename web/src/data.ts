// What the page was made from: the document that `analyze --json` prints, and the timeline. How both travel is in
// src/rocm_perf/render/page/payload.py, and is read in payload.ts.

/** A recording drawn over time. Times are nanoseconds since `beginNs`; the slices of a track are sorted by start. */
export interface Timeline {
  beginNs: string; // on the recording's own clock; beyond what a number holds exactly
  lengthNs: number;
  names: string[]; // what `name` of a slice, and details that are text, point at
  labels: string[]; // of each name, what fits into a slice: kernels without templates and parameters
  tracks: Track[];
  flows: Flows;
  steps: Float64Array; // where each step begins
  judged: [number, number] | null; // the part that the verdict is about
  thinned: string | null; // what was merged to keep the file small, in words
  notes: string[]; // what else to know before reading it: clocks of several machines, for instance
}

export type TrackKind = "phases" | "path" | "gaps" | "queue" | "copies" | "thread" | "ranges" | "counter";

/** One row of the timeline: slices, or a line for a counter. */
export interface Track {
  kind: TrackKind;
  group: string; // "GPU 0", "Process 4711": rows of one group stand together
  title: string;
  unit: string; // of a counter
  slices: Slices;
  at: Float64Array; // of a counter: when it was read, and what it said
  value: Float64Array;
}

/** Columns of equal length, one entry for each slice. */
export interface Slices {
  start: Float64Array;
  end: Float64Array;
  name: Uint32Array;
  depth: Uint8Array; // the line within the track: how deep it is nested, or what overlaps beside it
  count: Uint32Array; // events that were merged into it, usually 1
  busy: Float64Array; // time of these events together; end - start of a single one
  onPath: Uint8Array; // 1 where the critical path runs through it
  details: Detail[]; // what else is known of each slice: see detailsOf
}

/** One thing that is known of every slice of a track: grid, registers, bytes, stream, cause. */
export interface Detail {
  label: string;
  unit: string; // "ns", "B", or empty
  isText: boolean; // then values are indices into names
  values: Float64Array; // NaN where it was not recorded
}

/** From the slice that launched to the slice that was launched: indices of tracks, and of slices within them. */
export interface Flows {
  fromTrack: Uint32Array;
  fromSlice: Uint32Array;
  toTrack: Uint32Array;
  toSlice: Uint32Array;
}

export interface PageData {
  document: Record<string, unknown>; // as `--json` has it
  timeline: Timeline | null; // absent where nothing recorded has a time
}

/** One line of what a click on a slice shows. A number has a unit: "ns", "B", "B/s", or none. */
export interface DetailLine {
  label: string;
  value: string | number;
  unit: string;
}

/** Everything that is known of one slice beyond its name and its times: what was recorded, and what follows from it. */
export function detailsOf(timeline: Timeline, track: number, slice: number): DetailLine[] {
  const owner = timeline.tracks[track];
  if (!owner || slice >= owner.slices.start.length) return [];
  const recorded: DetailLine[] = [];
  for (const { label, unit, isText, values } of owner.slices.details) {
    const value = values[slice] ?? NaN;
    if (!Number.isNaN(value)) recorded.push({ label, unit, value: isText ? (timeline.names[value] ?? "") : value });
  }
  return [...recorded, ...rateOf(owner, slice, recorded), ...launchOf(timeline, track, slice), ...idleBefore(timeline, owner, slice)];
}

/** How fast a copy was. */
function rateOf({ kind, slices }: Track, slice: number, recorded: DetailLine[]): DetailLine[] {
  const size = recorded.find((line) => line.unit === "B")?.value;
  const seconds = slices.busy[slice]! / 1e9;
  return kind === "copies" && typeof size === "number" && seconds > 0 ? [{ label: "bandwidth", value: size / seconds, unit: "B/s" }] : [];
}

/** How long after the return of its launch something began, and within which operator it was launched. */
function launchOf(timeline: Timeline, track: number, slice: number): DetailLine[] {
  const { fromTrack, fromSlice, toTrack, toSlice } = timeline.flows;
  let flow = toSlice.indexOf(slice);
  while (flow >= 0 && toTrack[flow] !== track) flow = toSlice.indexOf(slice, flow + 1);
  const caller = timeline.tracks[fromTrack[flow] ?? -1]?.slices;
  if (!caller) return [];
  const call = fromSlice[flow]!;
  const delay = timeline.tracks[track]!.slices.start[slice]! - caller.end[call]!;
  const around = enclosing(caller, call);
  return [
    ...(around < 0 ? [] : [{ label: "launched within", value: timeline.names[caller.name[around]!] ?? "", unit: "" }]),
    { label: delay < 0 ? "began before its launch returned" : "began after its launch returned", value: Math.abs(delay), unit: "ns" },
  ];
}

/** The slice around another, on the line above it; -1 where there is none. */
export function enclosing({ start, end, depth }: Slices, slice: number): number {
  const line = depth[slice]! - 1;
  const above = line < 0 ? -1 : depth.lastIndexOf(line, slice);
  return above >= 0 && start[above]! <= start[slice]! && end[above]! >= end[slice]! ? above : -1;
}

/** Why the GPU was idle until something began. */
function idleBefore({ tracks, names }: Timeline, { kind, group, slices }: Track, slice: number): DetailLine[] {
  const gaps = tracks.find((track) => track.kind === "gaps" && track.group === group)?.slices;
  if (!gaps || (kind !== "queue" && kind !== "copies")) return [];
  const gap = gaps.end.indexOf(slices.start[slice]!);
  return gap < 0 ? [] : [{ label: "the GPU was idle before it because of", value: names[gaps.name[gap]!] ?? "", unit: "" }];
}

export { readPayload } from "./payload";
