// Names upon slices, cut in the middle as they fit. What was measured and cut is kept, so that a frame makes no new text.

import { cutMiddle } from "./names";

export const LABEL_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
export const LEAST_ROOM_PX = 26;
const PADDING_PX = 4;
const SHORT = 9; // characters: of fewer, those at the beginning tell more than both ends
const MOST_KEPT = 20_000;

export class Labels {
  private readonly widths: Float32Array;
  private readonly cut = new Map<number, string>();

  constructor(private readonly texts: readonly string[]) {
    this.widths = new Float32Array(texts.length).fill(-1);
  }

  /** Writes the name into a slice from `left` to `right`, as much of it as is in view. */
  draw(context: CanvasRenderingContext2D, name: number, left: number, right: number, y: number): void {
    const room = right - left - 2 * PADDING_PX;
    const text = this.fitting(context, name, room);
    if (text) context.fillText(text, left + PADDING_PX, y);
  }

  private fitting(context: CanvasRenderingContext2D, name: number, room: number): string {
    const text = this.texts[name] ?? "";
    const width = this.width(context, name, text);
    if (width <= room) return text;
    const characters = Math.floor((text.length * room) / width - 1.5); // both ends may be wider than the middle
    return characters < 3 ? "" : this.cutTo(name, text, characters);
  }

  private width(context: CanvasRenderingContext2D, name: number, text: string): number {
    if (this.widths[name]! < 0) this.widths[name] = context.measureText(text).width;
    return this.widths[name]!;
  }

  private cutTo(name: number, text: string, characters: number): string {
    const key = name * 256 + characters;
    const kept = this.cut.get(key);
    if (kept !== undefined) return kept;
    if (this.cut.size >= MOST_KEPT) this.cut.clear();
    const made = characters < SHORT ? `${text.slice(0, characters - 1)}…` : cutMiddle(text, characters);
    this.cut.set(key, made);
    return made;
  }
}
