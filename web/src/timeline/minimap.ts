// The whole recording in small: how busy the GPUs are, and which part is in view. The part can be dragged and stretched.

import { Columns, HIT } from "./columns";
import { css, type Theme } from "./colours";
import { busyRows } from "./layout";
import type { Prepared } from "./prepared";
import { nsAt, within, xOf, type Range } from "./scale";

const EDGE_PX = 7; // how near to an edge of the part a drag takes hold of it

type Hold = "from" | "to" | "all";

export class Minimap {
  private readonly context: CanvasRenderingContext2D;
  private readonly picture = document.createElement("canvas");
  private width = 1;
  private height = 1;
  private hits: number[] = []; // columns of the picture
  private held: { hold: Hold; at: number; range: Range } | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly prepared: Prepared,
    private readonly view: { limits: () => Range; range: () => Range; show: (range: Range) => void },
  ) {
    this.context = canvas.getContext("2d")!;
    canvas.addEventListener("pointerdown", (event) => this.take(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", () => (this.held = null));
    canvas.addEventListener("pointercancel", () => (this.held = null));
  }

  /** Draws how busy the recording is, once per size and theme. */
  prepare(theme: Theme, width: number, height: number, ratio: number): void {
    [this.width, this.height] = [width, height];
    for (const canvas of [this.canvas, this.picture]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.mark();
    const busy = busyOverTime(this.prepared, this.view.limits(), this.picture.width);
    const context = this.picture.getContext("2d")!;
    context.fillStyle = css(theme.surface);
    context.fillRect(0, 0, this.picture.width, this.picture.height);
    context.fillStyle = css(theme.series[0]!, 0.75);
    busy.forEach((share, x) => {
      const high = share * (this.picture.height - 4);
      context.fillRect(x, this.picture.height - high, 1, high);
    });
  }

  /** Marks where hits lie, for the next pictures. */
  mark(): void {
    this.hits = hitsOverTime(this.prepared, this.view.limits(), this.picture.width);
  }

  draw(theme: Theme): void {
    const { context, width, height } = this;
    const range = this.view.range();
    const left = Math.max(0, xOf(range.from, this.view.limits(), width));
    const right = Math.min(width, Math.max(xOf(range.to, this.view.limits(), width), left + 2));
    const ratio = this.canvas.width / width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.drawImage(this.picture, 0, 0, width, height);
    context.fillStyle = css(theme.ground, 0.72);
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.fillStyle = css(theme.accent);
    for (const x of this.hits) context.fillRect(x / ratio, 0, 1.5, 7);
    context.strokeStyle = css(theme.ink);
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, right - left - 1.5, height - 1.5);
    context.fillStyle = css(theme.ink);
    if (right - left > 16) for (const x of [left, right - 4]) context.fillRect(x, height / 2 - 8, 4, 16);
  }

  private take(event: PointerEvent): void {
    const x = event.offsetX;
    const range = this.view.range();
    const limits = this.view.limits();
    const [left, right] = [xOf(range.from, limits, this.width), xOf(range.to, limits, this.width)];
    const at = nsAt(x, limits, this.width);
    const hold = Math.abs(x - left) < EDGE_PX ? "from" : Math.abs(x - right) < EDGE_PX ? "to" : "all";
    const half = (range.to - range.from) / 2;
    const isOutside = x < left - EDGE_PX || x > right + EDGE_PX;
    const start = isOutside ? within({ from: at - half, to: at + half }, limits) : range;
    if (isOutside) this.view.show(start);
    this.held = { hold, at, range: start };
    this.canvas.setPointerCapture(event.pointerId);
  }

  private drag(event: PointerEvent): void {
    if (!this.held) return;
    const { hold, at, range } = this.held;
    const by = nsAt(event.offsetX, this.view.limits(), this.width) - at;
    const from = hold === "to" ? range.from : range.from + by;
    const to = hold === "from" ? range.to : range.to + by;
    this.view.show({ from: Math.min(from, to), to: Math.max(from, to) });
  }
}

/** The columns in which anything that was searched for lies. */
export function hitsOverTime(prepared: Prepared, limits: Range, columns: number): number[] {
  const hasHit = new Uint8Array(columns);
  const lane = new Columns(columns, columns);
  for (const each of prepared.rows.flatMap((row) => row.lanes)) {
    if (!each.hitsBefore) continue;
    lane.fill(each, limits);
    for (let x = 0; x < columns; x += 1) hasHit[x]! |= lane.marks[x]! & HIT;
  }
  return [...hasHit.keys()].filter((x) => hasHit[x]! > 0);
}

/** The share of each column of the whole in which at least some queue is busy; threads where there is no queue. */
export function busyOverTime(prepared: Prepared, limits: Range, columns: number): Float32Array {
  const busy = new Float32Array(columns);
  const lane = new Columns(columns, columns);
  const rows = busyRows(prepared.rows);
  for (const row of rows) {
    const first = row.lanes[0];
    if (!first) continue;
    lane.fill(first, limits);
    for (let x = 0; x < columns; x += 1) busy[x]! += lane.covered[x]! / rows.length;
  }
  return busy;
}
