// The slices of a row in lanes: within one, slices stand one after another, so that sums over any part are exact.

import type { Slices } from "../data";
import { Largest } from "./largest";

const MOST_LANES = 256; // beyond, slices share the last one

export interface Lane {
  start: Float64Array;
  end: Float64Array;
  slice: Uint32Array; // which slice of the row each is
  busy: Float64Array; // how much of it was spent: less than its length where events were merged
  reach: Float64Array; // the latest end so far: the same as `end` where nothing overlaps
  busyBefore: Float64Array; // what all before spent; one longer than the others
  longest: Largest;
  pathBefore: Uint32Array | null; // how many before are on the critical path
  hitsBefore: Uint32Array | null; // how many before were searched for
}

/** The slices by depth; one that overlaps another of its depth moves down to the next free lane. */
export function lanesOf(slices: Slices): Lane[] {
  const place = new Uint8Array(slices.start.length);
  const members = assign(slices, place);
  const indices = Array.from(members, (size) => new Uint32Array(size));
  const next = new Uint32Array(members.length);
  for (let slice = 0; slice < place.length; slice += 1) {
    const lane = place[slice]!;
    indices[lane]![next[lane]!] = slice;
    next[lane]! += 1;
  }
  return indices.map((slice) => laneOf(slices, slice));
}

/** How many entries of a sorted column, from `begin` on, are below the limit: steps that double, then halves. */
export function countBelow(column: Float64Array, limit: number, begin = 0): number {
  let low = begin;
  let step = 1;
  while (low + step <= column.length && column[low + step - 1]! < limit) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step - 1, column.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first that ends after the moment, or the number of all. */
export function firstAfter(lane: Lane, ns: number): number {
  const { reach } = lane;
  let low = 0;
  let high = reach.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reach[middle]! <= ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The time spent within the range, exact where nothing overlaps. */
export function busyBetween(lane: Lane, from: number, to: number): number {
  const first = firstAfter(lane, from);
  const behind = countBelow(lane.start, to, first);
  if (behind <= first) return 0;
  const whole = lane.busyBefore[behind]! - lane.busyBefore[first]!;
  const early = Math.max(0, from - lane.start[first]!) * density(lane, first);
  const late = Math.max(0, lane.end[behind - 1]! - to) * density(lane, behind - 1);
  return Math.min(whole - early - late, to - from);
}

/** The share of its own length that an entry spent. */
export function density(lane: Lane, place: number): number {
  const length = lane.end[place]! - lane.start[place]!;
  return length > 0 ? lane.busy[place]! / length : 0;
}

/** How many before each entry have the mark; null where none has. */
export function marksBefore(slice: Uint32Array, isMarked: (slice: number) => boolean): Uint32Array | null {
  const before = new Uint32Array(slice.length + 1);
  let sum = 0;
  for (let place = 0; place < slice.length; place += 1) {
    if (isMarked(slice[place]!)) sum += 1;
    before[place + 1] = sum;
  }
  return sum > 0 ? before : null;
}

function assign({ start, end, depth }: Slices, place: Uint8Array): number[] {
  const members: number[] = [];
  const busyUntil = new Float64Array(MOST_LANES).fill(-Infinity);
  for (let slice = 0; slice < place.length; slice += 1) {
    let lane = Math.min(depth[slice]!, MOST_LANES - 1);
    while (lane < MOST_LANES - 1 && busyUntil[lane]! > start[slice]!) lane += 1;
    busyUntil[lane] = Math.max(end[slice]!, start[slice]!);
    place[slice] = lane;
    while (members.length <= lane) members.push(0);
    members[lane]! += 1;
  }
  return members;
}

function laneOf(slices: Slices, slice: Uint32Array): Lane {
  const size = slice.length;
  const start = new Float64Array(size);
  const end = new Float64Array(size);
  const reach = new Float64Array(size);
  const busy = new Float64Array(size);
  const busyBefore = new Float64Array(size + 1);
  for (let place = 0; place < size; place += 1) {
    const index = slice[place]!;
    start[place] = slices.start[index]!;
    end[place] = Math.max(slices.end[index]!, start[place]!);
    reach[place] = place > 0 ? Math.max(end[place]!, reach[place - 1]!) : end[place]!;
    busy[place] = Math.min(slices.busy[index]!, end[place]! - start[place]!);
    busyBefore[place + 1] = busyBefore[place]! + busy[place]!;
  }
  const pathBefore = marksBefore(slice, (index) => slices.onPath[index] === 1);
  return { start, end, slice, busy, reach, busyBefore, longest: new Largest(busy), pathBefore, hitsBefore: null };
}
