// What the page was made from: the document that `analyze --json` prints, and the timeline.

/** A recording drawn over time. Times are nanoseconds since `beginNs`; everything is sorted by start. */
export interface Timeline {
  beginNs: string; // on the recording's own clock; beyond what a number holds exactly
  lengthNs: number;
  names: string[]; // what `name` of a slice points at
  tracks: Track[];
  flows: Flows;
  steps: Float64Array; // where each step of the steady state begins
  judged: [number, number] | null; // the part that the verdict is about
  thinned: string | null; // what was merged to keep the file small, in words
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
  depth: Uint8Array; // how deep it is nested
  count: Uint32Array; // events that were merged into it, usually 1
  onPath: Uint8Array; // 1 where the critical path runs through it
  detail: Int32Array; // index into details, or -1
  details: Record<string, string | number>[]; // what else is known: grid, registers, bytes, stream, cause
}

/** From the slice that launched to the slice that was launched: indices of tracks, and of slices within them. */
export interface Flows {
  fromTrack: Uint16Array;
  fromSlice: Uint32Array;
  toTrack: Uint16Array;
  toSlice: Uint32Array;
}

export interface PageData {
  document: Record<string, unknown>; // as `--json` has it
  timeline: Timeline | null; // absent where nothing recorded has a time
}
