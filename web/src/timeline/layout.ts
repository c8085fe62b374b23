// Which row lies where: groups one below the other, phases above them, which stay in sight.

import type { TrackKind } from "../data";
import type { Row } from "./prepared";

export const RULER_PX = 30;
const GROUP_PX = 26;
const CAPTION_PX = 17; // of a row whose title stands above it, where the page is narrow
const ROW_GAP_PX = 5;
const PINNED_GAP_PX = 2;
const COUNTER_PX = 46;
const COMPACT_PX = 3; // of a lane in a folded row
const MOST_COMPACT = 60; // lanes
const LEAST_ROW_PX = 18;
const PINNED: readonly TrackKind[] = ["phases", "path"];
const LANE_PX: Record<TrackKind, number> = { phases: 18, path: 16, gaps: 14, queue: 22, copies: 18, thread: 18, ranges: 18, counter: COUNTER_PX };

/** A row, or the heading of a group, on the page. */
export interface Placed {
  group: string;
  row: Row | null; // null for the heading of a group
  members: Row[]; // of a heading
  isOpen: boolean;
  y: number; // of its top
  height: number; // with the caption and the gap below
  contentY: number; // of the first lane
  lanePx: number;
  lanes: number; // that are shown
}

export interface Layout {
  pinned: Placed[]; // below the ruler; y from the top of the timeline
  rows: Placed[]; // y from the top of what scrolls
  head: number; // height of ruler and pinned rows
  height: number; // of what scrolls
}

/** What is folded: groups by name, rows by the index of their track. */
export interface Folded {
  groups: ReadonlySet<string>;
  rows: ReadonlySet<number>;
}

export function layOut(rows: readonly Row[], folded: Folded, hasCaptions: boolean): Layout {
  const caption = hasCaptions ? CAPTION_PX : 0;
  const pinned: Placed[] = [];
  let head = RULER_PX;
  const inTurn = rows.filter(isPinned).sort((one, other) => PINNED.indexOf(one.track.kind) - PINNED.indexOf(other.track.kind));
  for (const row of inTurn) {
    const placed = placeRow({ row, y: head + PINNED_GAP_PX, caption: 0, isOpen: true });
    pinned.push({ ...placed, height: placed.height - ROW_GAP_PX + PINNED_GAP_PX });
    head = placed.y + placed.height - ROW_GAP_PX;
  }
  head += ROW_GAP_PX;
  const placedRows: Placed[] = [];
  let y = ROW_GAP_PX;
  for (const [group, members] of groupsOf(rows)) {
    const isOpen = !folded.groups.has(group);
    if (group) {
      placedRows.push({ group, row: null, members, isOpen, y, height: GROUP_PX, contentY: y + 4, lanePx: GROUP_PX - 8, lanes: 1 });
      y += GROUP_PX;
    }
    if (!isOpen) continue;
    for (const row of members) {
      const placed = placeRow({ row, y, caption, isOpen: !folded.rows.has(row.index) });
      placedRows.push(placed);
      y += placed.height;
    }
  }
  return { pinned, rows: placedRows, head, height: y };
}

/** Which row lies at this height of the list, found by halves. */
export function rowAt(rows: readonly Placed[], y: number): Placed | null {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { y: top, height } = rows[middle]!;
    if (top + height <= y) low = middle + 1;
    else high = middle;
  }
  const placed = rows[low];
  return placed && placed.y <= y ? placed : null;
}

/** The tracks of each group, in the order in which groups first appear. */
export function groupsOf(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    if (isPinned(row)) continue;
    const members = groups.get(row.track.group);
    if (members) members.push(row);
    else groups.set(row.track.group, [row]);
  }
  return groups;
}

/** The rows whose lanes tell how busy a group is: its queues, else its threads, else all it has. */
export function busyRows(members: readonly Row[]): Row[] {
  for (const kind of ["queue", "thread"]) {
    const rows = members.filter((row) => row.track.kind === kind);
    if (rows.length > 0) return rows;
  }
  return members.filter((row) => row.lanes.length > 0);
}

function isPinned(row: Row): boolean {
  return PINNED.includes(row.track.kind);
}

function placeRow(given: { row: Row; y: number; caption: number; isOpen: boolean }): Placed {
  const { row, y, caption, isOpen } = given;
  const lanePx = isOpen ? LANE_PX[row.track.kind] : COMPACT_PX;
  const lanes = row.line ? 1 : Math.min(Math.max(1, row.lanes.length), isOpen ? Infinity : MOST_COMPACT);
  const height = caption + Math.max(lanes * lanePx, LEAST_ROW_PX - ROW_GAP_PX) + ROW_GAP_PX;
  return { group: row.track.group, row, members: [], isOpen, y, height, contentY: y + caption, lanePx, lanes };
}
