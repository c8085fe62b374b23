// Slices beside, above and below the selected one, for those who move by keys.

import { firstAfter } from "./lanes";
import { placeNear } from "./hit_test";
import type { Layout } from "./layout";
import { placeOf, type Prepared, type Row, type Selected } from "./prepared";
import type { Range } from "./scale";

/** The slice before or behind on the same lane. */
export function neighbour({ rows }: Prepared, from: Selected, direction: 1 | -1): Selected | null {
  const row = rows[from.track]!;
  const at = placeOf(row, from.slice);
  const slice = at ? row.lanes[at.lane]!.slice[at.place + direction] : undefined;
  return slice === undefined ? null : { track: from.track, slice };
}

/** The first slice in view, on the first row that has any. */
export function visibleFirst({ rows }: Prepared, layout: Layout, range: Range): Selected | null {
  for (const row of inOrder(layout, rows)) {
    const lane = row.lanes[0];
    const place = lane ? firstAfter(lane, range.from) : 0;
    if (lane && place < lane.start.length && lane.start[place]! < range.to) return { track: row.index, slice: lane.slice[place]! };
  }
  return null;
}

/** The nearest slice at the same time on the lane above or below. */
export function onOtherRow({ rows }: Prepared, layout: Layout, from: Selected, direction: 1 | -1): Selected | null {
  const lanes = inOrder(layout, rows).flatMap((row) => row.lanes.map((lane) => ({ row, lane })));
  const own = placeOf(rows[from.track]!, from.slice);
  const ownLane = own ? rows[from.track]!.lanes[own.lane] : undefined;
  const ns = rows[from.track]!.track.slices.start[from.slice]!;
  let at = lanes.findIndex((each) => each.lane === ownLane) + direction;
  for (; at >= 0 && at < lanes.length; at += direction) {
    const { row, lane } = lanes[at]!;
    const place = lane.start.length > 0 ? placeNear(lane, ns, Infinity) : -1;
    if (place >= 0) return { track: row.index, slice: lane.slice[nearest(lane.start, place, ns)]! };
  }
  return null;
}

/** Where a walk to the nearest start ends, beginning at the given place. */
function nearest(start: Float64Array, place: number, ns: number): number {
  let low = 0;
  let high = start.length - 1;
  if (start[place]! <= ns && (place === high || start[place + 1]! > ns)) return place;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (start[middle]! < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

function inOrder(layout: Layout, rows: readonly Row[]): Row[] {
  const shown = [...layout.pinned, ...layout.rows].flatMap((each) => (each.row ? [each.row] : []));
  return shown.filter((row) => rows[row.index] === row);
}
