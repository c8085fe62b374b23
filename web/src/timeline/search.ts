// What was searched for: by any part of a name, whatever its case.

import { marksBefore } from "./lanes";
import type { Prepared, Selected } from "./prepared";

export interface Hits {
  text: string;
  isHit: Uint8Array; // of each name
  slices: number;
  events: number; // those merged into slices counted one by one
  busyNs: number; // summed
}

/** Finds the text, and marks in every lane what has it. An empty text takes the marks away. */
export function search(prepared: Prepared, text: string): Hits | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) {
    for (const row of prepared.rows) for (const lane of row.lanes) lane.hitsBefore = null;
    return null;
  }
  const { names, labels } = prepared.timeline;
  const isHit = Uint8Array.from(names, (name, index) =>
    name.toLowerCase().includes(wanted) || (labels[index] ?? "").toLowerCase().includes(wanted) ? 1 : 0,
  );
  const hits: Hits = { text, isHit, slices: 0, events: 0, busyNs: 0 };
  for (const { track, lanes } of prepared.rows) {
    const { name } = track.slices;
    for (const lane of lanes) lane.hitsBefore = marksBefore(lane.slice, (slice) => isHit[name[slice]!] === 1);
    if (track.kind !== "path") count(track.slices, hits); // it repeats what other rows hold
  }
  return hits;
}

/** The next hit by start (or the one before, going backwards), around the end to the other side. */
export function nextHit(prepared: Prepared, hits: Hits, from: Selected | null, backwards = false): Selected | null {
  const order = inTurn(prepared, backwards);
  let after: Selected | null = null;
  let first: Selected | null = null;
  for (const { track, index } of prepared.rows) {
    if (track.kind === "path") continue;
    for (let slice = 0; slice < track.slices.start.length; slice += 1) {
      if (hits.isHit[track.slices.name[slice]!] !== 1) continue;
      const each = { track: index, slice };
      if (!first || order(each, first) < 0) first = each;
      if (from && order(each, from) > 0 && (!after || order(each, after) < 0)) after = each;
    }
  }
  return after ?? first;
}

/** The nearest slice of the same name on the same row, later or earlier. */
export function sameName(prepared: Prepared, from: Selected, direction: 1 | -1): Selected | null {
  const name = prepared.rows[from.track]?.track.slices.name;
  if (!name) return null;
  let slice = from.slice + direction;
  while (slice >= 0 && slice < name.length && name[slice] !== name[from.slice]) slice += direction;
  return slice >= 0 && slice < name.length ? { track: from.track, slice } : null;
}

function count({ name, count: merged, busy }: Prepared["timeline"]["tracks"][number]["slices"], hits: Hits): void {
  for (let slice = 0; slice < name.length; slice += 1) {
    if (hits.isHit[name[slice]!] !== 1) continue;
    hits.slices += 1;
    hits.events += merged[slice]!;
    hits.busyNs += busy[slice]!;
  }
}

function inTurn({ timeline }: Prepared, backwards: boolean): (one: Selected, other: Selected) => number {
  const sign = backwards ? -1 : 1;
  const start = ({ track, slice }: Selected): number => timeline.tracks[track]!.slices.start[slice]!;
  return (one, other) => sign * (start(one) - start(other) || one.track - other.track || one.slice - other.slice);
}
