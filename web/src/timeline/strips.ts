// Lanes as pixels. Each lane is a line of one pixel that is stretched to the lane's height, so that a frame costs one
// picture per lane however many slices it shows; a second line holds the marks below it.

import { HIT, ON_PATH, type Columns } from "./columns";
import type { Palette } from "./colours";
import type { Lane } from "./lanes";

const FAINTEST = 76; // of 255: even the shortest slice stays visible
const DIMMED = 0.2; // of slices that are not what was asked for

/** What is told apart: everything, what was searched for, or what is on the critical path. */
export type Emphasis = "all" | "hits" | "path";

export class Strips {
  private readonly canvas = document.createElement("canvas");
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData;
  private pixels: Uint32Array;
  used = 0; // lines

  constructor(readonly width: number) {
    this.context = this.canvas.getContext("2d", { willReadFrequently: true })!;
    [this.image, this.pixels] = this.sized(64);
  }

  /** Gives out the next line of pixels, by its number. */
  next(): number {
    if (this.used * this.width >= this.pixels.length) this.grow();
    this.used += 1;
    return this.used - 1;
  }

  line(number: number): Uint32Array {
    return this.pixels.subarray(number * this.width, (number + 1) * this.width);
  }

  /** Makes the lines ready to be copied with `draw`. */
  finish(): void {
    if (this.used > 0) this.context.putImageData(this.image, 0, 0, 0, 0, this.width, this.used);
  }

  draw(context: CanvasRenderingContext2D, to: { line: number; y: number; height: number; width: number }): void {
    context.drawImage(this.canvas, 0, to.line, this.width, 1, 0, to.y, to.width, to.height);
  }

  private grow(): void {
    const before = this.pixels;
    [this.image, this.pixels] = this.sized(this.image.height * 2);
    this.pixels.set(before);
  }

  private sized(lines: number): [ImageData, Uint32Array] {
    this.canvas.width = this.width;
    this.canvas.height = lines;
    const image = new ImageData(this.width, lines);
    return [image, new Uint32Array(image.data.buffer)];
  }
}

/** Whether something with these marks steps back behind what was asked for. */
export function isDimmed(marks: number, emphasis: Emphasis): boolean {
  return emphasis !== "all" && (marks & (emphasis === "hits" ? HIT : ON_PATH)) === 0;
}

/** The lane's columns in the colours of their slices' names; the edge of a slice is lighter than the rest. */
export function paintLane(given: { columns: Columns; lane: Lane; names: Uint32Array; palette: Palette; emphasis: Emphasis; line: Uint32Array }): void {
  const { columns, lane, names, palette, emphasis, line } = given;
  const { covered, top, marks, width } = columns;
  for (let x = 0; x < width; x += 1) {
    const place = top[x]!;
    if (place < 0) {
      line[x] = 0;
      continue;
    }
    let alpha = FAINTEST + (255 - FAINTEST) * covered[x]!;
    if (isDimmed(marks[x]!, emphasis)) alpha *= DIMMED;
    const isEdge = x > 1 && top[x + 1] !== place && top[x - 2] === place;
    line[x] = (palette.pixels[names[lane.slice[place]!]!]! & 0xffffff) | ((isEdge ? alpha * 0.55 : alpha) << 24);
  }
}

/** The columns that carry the mark, in one colour. */
export function paintMarks(columns: Columns, mark: number, pixel: number, line: Uint32Array): boolean {
  let hasAny = false;
  for (let x = 0; x < columns.width; x += 1) {
    const isMarked = (columns.marks[x]! & mark) !== 0;
    line[x] = isMarked ? pixel : 0;
    hasAny ||= isMarked;
  }
  return hasAny;
}

/** How busy each column is, in one colour: the denser the more solid. */
export function paintBusy(busy: Float32Array, pixel: number, line: Uint32Array): void {
  for (let x = 0; x < line.length; x += 1) {
    const share = Math.min(1, busy[x]!);
    line[x] = share > 0 ? (pixel & 0xffffff) | ((48 + 160 * share) << 24) : 0;
  }
}
