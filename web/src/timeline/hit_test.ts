// What lies below the pointer.

import { firstAfter, countBelow, type Lane } from "./lanes";
import { RULER_PX, rowAt, type Placed } from "./layout";
import type { Selected } from "./prepared";
import { nsAt } from "./scale";
import type { Scene } from "./scene";

const REACH_PX = 3; // how far beside a short slice the pointer may be

export interface Below {
  part: "ruler" | "row" | "nothing";
  ns: number;
  placed: Placed | null;
  slice: Selected | null;
}

export function below(scene: Scene, x: number, y: number, width: number): Below {
  const ns = nsAt(x, scene.range, width);
  if (y < RULER_PX) return { part: "ruler", ns, placed: null, slice: null };
  const isPinned = y < scene.layout.head;
  const inList = isPinned ? y : y - scene.layout.head + scene.scrollTop;
  const placed = rowAt(isPinned ? scene.layout.pinned : scene.layout.rows, inList);
  if (!placed) return { part: "nothing", ns, placed: null, slice: null };
  const reach = (REACH_PX * (scene.range.to - scene.range.from)) / width;
  return { part: "row", ns, placed, slice: sliceIn(placed, inList, ns, reach) };
}

function sliceIn(placed: Placed, y: number, ns: number, reach: number): Selected | null {
  const lane = placed.row?.lanes[Math.floor((y - placed.contentY) / placed.lanePx)];
  if (!placed.row || !lane) return null;
  const place = placeNear(lane, ns, reach);
  return place < 0 ? null : { track: placed.row.index, slice: lane.slice[place]! };
}

/** The place of the slice at the moment; else of the longest within reach; else -1. */
export function placeNear(lane: Lane, ns: number, reach: number): number {
  const at = firstAfter(lane, ns);
  if (at < lane.start.length && lane.start[at]! <= ns) return at;
  const first = firstAfter(lane, ns - reach);
  const behind = countBelow(lane.start, ns + reach, first);
  return behind > first ? lane.longest.between(first, behind) : -1;
}
