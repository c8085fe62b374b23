// Slices beside, above and below the selected one, for those who move by keys.

import { countBelow, firstAfter } from "./lanes";
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
export function visibleFirst(layout: Layout, range: Range): Selected | null {
  for (const row of inOrder(layout)) {
    const lane = row.lanes[0];
    const place = lane ? firstAfter(lane, range.from) : 0;
    if (lane && place < lane.start.length && lane.start[place]! < range.to) return { track: row.index, slice: lane.slice[place]! };
  }
  return null;
}

/** The nearest slice at the same time on the lane above or below. */
export function onOtherRow({ rows }: Prepared, layout: Layout, from: Selected, direction: 1 | -1): Selected | null {
  const lanes = inOrder(layout).flatMap((row) => row.lanes.map((lane) => ({ row, lane })));
  const own = placeOf(rows[from.track]!, from.slice);
  const ownLane = own ? rows[from.track]!.lanes[own.lane] : undefined;
  const ns = rows[from.track]!.track.slices.start[from.slice]!;
  let at = lanes.findIndex((each) => each.lane === ownLane) + direction;
  for (; at >= 0 && at < lanes.length; at += direction) {
    const { row, lane } = lanes[at]!;
    if (lane.start.length > 0) return { track: row.index, slice: lane.slice[nearestStart(lane.start, ns)]! };
  }
  return null;
}

/** The place of the start that is nearest to the moment. */
function nearestStart(start: Float64Array, ns: number): number {
  const behind = countBelow(start, ns);
  const isNearer = behind === start.length || (behind > 0 && ns - start[behind - 1]! < start[behind]! - ns);
  return isNearer ? behind - 1 : behind;
}

function inOrder(layout: Layout): Row[] {
  return [...layout.pinned, ...layout.rows].flatMap((each) => (each.row ? [each.row] : []));
}
