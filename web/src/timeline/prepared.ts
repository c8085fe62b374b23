// A timeline made ready to be drawn and searched: its rows in lanes, its counters with their extremes, its names as text.

import type { Slices, Timeline, Track } from "../data";
import { lanesOf, type Lane } from "./lanes";
import { Largest } from "./largest";
import { cutMiddle, visibleName } from "./names";

const LONGEST_LABEL = 240; // characters: more never fits into a slice

/** A counter, with what finds its highest and lowest reading in any part of the recording. */
export interface Line {
  at: Float64Array;
  value: Float64Array;
  highest: Largest;
  lowest: Largest;
  unit: string;
  series: number; // which colour: counters of one title look alike on every GPU
  least: number;
  most: number;
}

export interface Row {
  track: Track;
  index: number; // of the track
  lanes: Lane[];
  line: Line | null;
}

export interface Prepared {
  timeline: Timeline;
  rows: Row[];
  labels: string[]; // of each name, harmless and short
  steps: number[]; // the names of the steps
}

/** One slice, by the track and its place there. */
export interface Selected {
  track: number;
  slice: number;
}

/** The timeline with a row for its steps, which are slices like all others from here on. */
export function prepare(recorded: Timeline): Prepared {
  const { timeline, steps } = withSteps(recorded);
  const counters = [...new Set(timeline.tracks.filter((track) => track.kind === "counter").map((track) => track.title))];
  const rows = timeline.tracks.map((track, index) => ({
    track,
    index,
    lanes: lanesOf(track.slices),
    line: track.kind === "counter" ? lineOf(track, counters.indexOf(track.title)) : null,
  }));
  const labels = timeline.names.map((name, index) => cutMiddle(visibleName((timeline.labels[index] || name).slice(0, 4096)), LONGEST_LABEL));
  return { timeline, rows, labels, steps };
}

function withSteps(timeline: Timeline): { timeline: Timeline; steps: number[] } {
  const start = timeline.steps;
  if (start.length === 0) return { timeline, steps: [] };
  const numbers = Array.from(start, (_, step) => String(step + 1));
  const name = Uint32Array.from(start, (_, step) => timeline.names.length + step);
  const end = Float64Array.from(start, (_, step) => start[step + 1] ?? timeline.judged?.[1] ?? timeline.lengthNs);
  const none = new Float64Array(0);
  const slices: Slices = {
    start,
    end,
    name,
    depth: new Uint8Array(start.length),
    count: new Uint32Array(start.length).fill(1),
    busy: end.map((each, step) => each - start[step]!),
    onPath: new Uint8Array(start.length),
    details: [],
  };
  const track: Track = { kind: "phases", group: "", title: "steps", unit: "", slices, at: none, value: none };
  const added = { names: [...timeline.names, ...numbers.map((each) => `Step ${each}`)], labels: [...timeline.labels, ...numbers], tracks: [...timeline.tracks, track] };
  return { timeline: { ...timeline, ...added }, steps: [...name] };
}

/** Where a slice is drawn: its lane within the row, and its place within the lane. */
export function placeOf(row: Row, slice: number): { lane: number; place: number } | null {
  for (let lane = 0; lane < row.lanes.length; lane += 1) {
    const place = indexIn(row.lanes[lane]!.slice, slice);
    if (place >= 0) return { lane, place };
  }
  return null;
}

function indexIn(sorted: Uint32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value ? low : -1;
}

function lineOf({ at, value, unit }: Track, series: number): Line | null {
  if (at.length === 0) return null;
  const highest = new Largest(value);
  const lowest = new Largest(value.map((each) => -each));
  return {
    at,
    value,
    highest,
    lowest,
    unit,
    series,
    least: value[lowest.between(0, value.length)]!,
    most: value[highest.between(0, value.length)]!,
  };
}
