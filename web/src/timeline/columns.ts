// One lane as the columns of pixels in view: how much of each is covered, and by which slice most.

import { countBelow, density, firstAfter, type Lane } from "./lanes";
import type { Range } from "./scale";

export const ON_PATH = 1;
export const HIT = 2;

export class Columns {
  readonly covered: Float32Array; // share of the column's time
  readonly top: Int32Array; // place in the lane of what covers most of it, or -1
  readonly marks: Uint8Array; // ON_PATH and HIT, of anything in it
  readonly wide: Int32Array; // places of slices that may have room for a name
  wideCount = 0;
  private readonly share: Float32Array;

  constructor(
    readonly width: number,
    private readonly leastWide: number,
  ) {
    this.covered = new Float32Array(width);
    this.top = new Int32Array(width);
    this.marks = new Uint8Array(width);
    this.share = new Float32Array(width);
    this.wide = new Int32Array(Math.ceil(width / leastWide) + 2);
  }

  /** Takes the lane's slices within the range; work grows with the width, not with the number of slices. */
  fill(lane: Lane, range: Range): void {
    this.covered.fill(0);
    this.top.fill(-1);
    this.share.fill(-1);
    this.marks.fill(0);
    this.wideCount = 0;
    const { start, end } = lane;
    const perNs = this.width / (range.to - range.from);
    let place = firstAfter(lane, range.from);
    while (place < start.length && start[place]! < range.to) {
      const left = Math.max(0, (start[place]! - range.from) * perNs);
      const right = Math.min(this.width, (end[place]! - range.from) * perNs);
      const column = Math.min(left | 0, this.width - 1);
      if (right > column + 1 || start[place]! < range.from) {
        this.cover(place, left, right, density(lane, place));
        this.mark(lane, place, place + 1, column, Math.ceil(right));
        place += 1;
      } else {
        place = this.gather(lane, place, column, range.from + (column + 1) / perNs, perNs);
      }
    }
  }

  /** Everything that begins and ends in this column, at once. */
  private gather(lane: Lane, place: number, column: number, edge: number, perNs: number): number {
    let behind = countBelow(lane.start, edge, place);
    if (behind > place + 1 && lane.end[behind - 1]! > edge) behind -= 1;
    behind = Math.max(behind, place + 1);
    const longest = behind === place + 1 ? place : lane.longest.between(place, behind);
    const share = lane.busy[longest]! * perNs;
    this.add(column, (lane.busyBefore[behind]! - lane.busyBefore[place]!) * perNs, share, longest);
    this.mark(lane, place, behind, column, column + 1);
    return behind;
  }

  /** One slice that reaches over several columns, or in from before the range. */
  private cover(place: number, left: number, right: number, dense: number): void {
    const first = left | 0;
    const last = Math.min(right | 0, this.width);
    const begun = (Math.min(right, first + 1) - left) * dense;
    this.add(first, begun, begun, place);
    this.covered.fill(dense, first + 1, last);
    this.share.fill(dense, first + 1, last);
    this.top.fill(place, first + 1, last);
    if (last > first && last < this.width && right > last) this.add(last, (right - last) * dense, (right - last) * dense, place);
    if (right - left >= this.leastWide && this.wideCount < this.wide.length) {
      this.wide[this.wideCount] = place;
      this.wideCount += 1;
    }
  }

  private add(column: number, covered: number, share: number, place: number): void {
    this.covered[column] = Math.min(1, this.covered[column]! + covered);
    if (share <= this.share[column]!) return;
    this.share[column] = share;
    this.top[column] = place;
  }

  private mark(lane: Lane, place: number, behind: number, column: number, columnBehind: number): void {
    const { pathBefore, hitsBefore } = lane;
    let marks = 0;
    if (pathBefore && pathBefore[behind]! > pathBefore[place]!) marks |= ON_PATH;
    if (hitsBefore && hitsBefore[behind]! > hitsBefore[place]!) marks |= HIT;
    if (marks === 0) return;
    for (let each = column; each < columnBehind && each < this.width; each += 1) this.marks[each]! |= marks;
  }
}
