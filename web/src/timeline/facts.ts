// What is known of a slice, or of a chosen range, as lines of text.

import { detailsOf, type Slices, type Timeline } from "../data";
import { formatCount, formatMoment, formatNs, formatQuantity, formatShare } from "./format";
import { busyBetween } from "./lanes";
import { cutMiddle, visibleName } from "./names";
import { placeOf, type Prepared, type Selected } from "./prepared";
import type { Range } from "./scale";

const LONGEST_NAME = 2000; // characters: more is not read
const LONGEST_VALUE = 400;

/** A label and what it says. */
export type Fact = readonly [label: string, text: string];

/** The whole name, harmless; a very long one is cut and says so. */
export function fullName(timeline: Timeline, name: number): string {
  const text = timeline.names[name] ?? "";
  if (text.length <= LONGEST_NAME) return visibleName(text);
  return `${visibleName(cutMiddle(text, LONGEST_NAME))} (${formatCount(text.length, "character")})`;
}

/** The row in words: its group and its title. */
export function rowName(timeline: Timeline, track: number): string {
  const { group = "", title = "" } = timeline.tracks[track] ?? {};
  return [group, title].filter(Boolean).map((each) => cutMiddle(visibleName(each), 120)).join(" · ");
}

/** The slice in one sentence, for the live region. */
export function spoken(prepared: Prepared, { track, slice }: Selected): string {
  const { timeline, labels } = prepared;
  const { name, start, end } = timeline.tracks[track]!.slices;
  const length = end[slice]! - start[slice]!;
  return `${labels[name[slice]!]}, ${formatNs(length)}, at ${formatNs(start[slice]!)}, ${rowName(timeline, track)}`;
}

/** Everything that is known of one slice. */
export function factsOf(prepared: Prepared, selected: Selected): Fact[] {
  const { timeline } = prepared;
  const { track, slice } = selected;
  const { slices } = timeline.tracks[track]!;
  const [start, end] = [slices.start[slice]!, slices.end[slice]!];
  const facts: Fact[] = [
    ["Duration", formatNs(end - start)],
    ["Start", formatMoment(start, Math.max(1, (end - start) / 10))],
    ["Row", rowName(timeline, track)],
  ];
  if (slices.count[slice]! > 1) facts.push(["Merged", `${formatCount(slices.count[slice]!, "event")}, ${formatNs(slices.busy[slice]!)} together`]);
  const idle = idleBefore(prepared, selected);
  if (idle !== null) facts.push(["Idle before", formatNs(idle)]);
  const step = stepAt(timeline.steps, start);
  if (step !== null) facts.push(["Step", `${step + 1} of ${timeline.steps.length}`]);
  if (slices.onPath[slice] === 1) facts.push(["Critical path", "runs through it"]);
  for (const { label, value, unit } of detailsOf(timeline, track, slice)) {
    const text = typeof value === "number" ? formatQuantity(value, unit) : cutMiddle(visibleName(value), LONGEST_VALUE);
    facts.push([cutMiddle(visibleName(label), 60), text]);
  }
  facts.push(["Same name on this row", sameNameTotal(prepared, selected)]);
  return facts;
}

/** What happens within a chosen range: its length, and how busy each queue is. */
export function factsOfRange(prepared: Prepared, { from, to }: Range): Fact[] {
  const facts: Fact[] = [["Length", formatNs(to - from)], ["From", formatNs(from)], ["To", formatNs(to)]];
  const steps = prepared.timeline.steps.filter((each) => each >= from && each < to).length;
  if (steps > 0) facts.push(["Steps that begin", String(steps)]);
  for (const { track, index, lanes } of prepared.rows) {
    if (track.kind !== "queue" && track.kind !== "copies") continue;
    const busy = lanes.length > 1 ? coveredBetween(track.slices, from, to) : lanes[0] ? busyBetween(lanes[0], from, to) : 0;
    if (busy > 0) facts.push([rowName(prepared.timeline, index), `busy ${formatNs(busy)}, ${formatShare(busy / (to - from))}`]);
  }
  return facts;
}

/** The last step that begins no later than the moment, counted from 0; null before the first. */
export function stepAt(steps: Float64Array, ns: number): number | null {
  let step = -1;
  while (step + 1 < steps.length && steps[step + 1]! <= ns) step += 1;
  return step < 0 ? null : step;
}

/** The time that at least one slice covers within the range, however they overlap. */
export function coveredBetween({ start, end }: Slices, from: number, to: number): number {
  let covered = 0;
  let until = from;
  for (let slice = 0; slice < start.length && start[slice]! < to; slice += 1) {
    const begin = Math.max(start[slice]!, until);
    const stop = Math.min(end[slice]!, to);
    if (stop <= begin) continue;
    covered += stop - begin;
    until = stop;
  }
  return covered;
}

function idleBefore({ rows }: Prepared, { track, slice }: Selected): number | null {
  const row = rows[track]!;
  const at = placeOf(row, slice);
  if (!at || at.place === 0 || row.track.kind !== "queue") return null;
  const lane = row.lanes[at.lane]!;
  return Math.max(0, lane.start[at.place]! - lane.reach[at.place - 1]!);
}

function sameNameTotal({ timeline }: Prepared, { track, slice }: Selected): string {
  const { name, count, busy } = timeline.tracks[track]!.slices;
  let [events, total] = [0, 0];
  for (let each = 0; each < name.length; each += 1) {
    if (name[each] !== name[slice]) continue;
    events += count[each]!;
    total += busy[each]!;
  }
  return `${formatCount(events, "event")}, ${formatNs(total)} together, ${formatNs(total / Math.max(1, events))} on average`;
}
