// Everything that one frame shows.

import type { Palette, Theme } from "./colours";
import type { Connected } from "./flows";
import type { Layout, Placed } from "./layout";
import { placeOf, type Prepared, type Selected } from "./prepared";
import { xOf, type Range } from "./scale";
import type { Emphasis } from "./strips";

export interface Scene {
  prepared: Prepared;
  layout: Layout;
  range: Range;
  scrollTop: number;
  theme: Theme;
  palette: Palette;
  emphasis: Emphasis;
  selected: Selected | null;
  hovered: Selected | null;
  connected: Connected;
  measured: Range | null; // the part chosen on the ruler
  cursor: number | null; // the moment below the pointer
}

/** A rectangle on the canvas. */
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Where a slice is drawn; the heading of its group where that is folded; null where it has no place. */
export function boxOf(scene: Scene, { track, slice }: Selected, width: number): Box | null {
  const row = scene.prepared.rows[track];
  if (!row) return null;
  const { start, end } = row.track.slices;
  const left = xOf(start[slice]!, scene.range, width);
  const right = Math.max(xOf(end[slice]!, scene.range, width), left + 1);
  const found = placedOf(scene.layout, track);
  if (!found) return null;
  const lane = found.placed.row ? Math.min(placeOf(row, slice)?.lane ?? 0, found.placed.lanes - 1) : 0;
  const shift = found.isPinned ? 0 : scene.layout.head - scene.scrollTop;
  const top = found.placed.contentY + lane * found.placed.lanePx + shift;
  return { left, right, top, bottom: top + found.placed.lanePx - 1 };
}

/** The place of a track, or of the group it is folded into. */
export function placedOf(layout: Layout, track: number): { placed: Placed; isPinned: boolean } | null {
  const pinned = layout.pinned.find((each) => each.row?.index === track);
  if (pinned) return { placed: pinned, isPinned: true };
  const placed =
    layout.rows.find((each) => each.row?.index === track) ?? layout.rows.find((each) => each.members.some((row) => row.index === track));
  return placed ? { placed, isPinned: false } : null;
}
