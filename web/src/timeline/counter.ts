// A counter as a filled line over time, with its scale. Each column shows the lowest and the highest reading in it.

import { css, type Rgb } from "./colours";
import { formatQuantity } from "./format";
import { countBelow } from "./lanes";
import type { Line } from "./prepared";
import { nsAt, xOf, type Range } from "./scale";

export interface CounterPlace {
  range: Range;
  width: number;
  top: number;
  bottom: number;
}

/** The highest value of the scale: a number not below the highest reading that is round in its unit. */
export function scaleTop(most: number, unit: string): number {
  if (most <= 0) return 1;
  const base = unit.startsWith("B") ? 1024 ** Math.floor(Math.log2(most) / 10) : 1;
  return base * roundTop(most / base);
}

function roundTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * power >= most * 0.999) ?? 10) * power;
}

/** What the counter last said at the moment, or null before its first reading. */
export function readingAt(line: Line, ns: number): number | null {
  const behind = countBelow(line.at, ns + 1e-6);
  return behind > 0 ? line.value[behind - 1]! : null;
}

export function drawCounter(context: CanvasRenderingContext2D, line: Line, place: CounterPlace, colour: Rgb): void {
  context.beginPath();
  traceLine(context, line, place);
  context.strokeStyle = css(colour);
  context.lineWidth = 1.25;
  context.lineJoin = "round";
  context.stroke();
  closeArea(context, line, place);
  context.fillStyle = css(colour, 0.22);
  context.fill();
}

/** The scale: the value at the top, and zero or the lowest value below. */
export function drawScale(context: CanvasRenderingContext2D, line: Line, place: CounterPlace, given: { ink: Rgb; ground: Rgb }): void {
  const base = Math.min(0, line.least);
  context.textBaseline = "middle";
  for (const [value, y] of [[scaleTop(line.most, line.unit), place.top + 6], [base, place.bottom - 6]] as const) {
    const text = value === 0 ? "0" : formatQuantity(value, line.unit);
    context.fillStyle = css(given.ground, 0.75);
    context.fillRect(2, y - 6, context.measureText(text).width + 4, 12);
    context.fillStyle = css(given.ink);
    context.fillText(text, 4, y);
  }
}

function yOf(value: number, line: Line, { top, bottom }: CounterPlace): number {
  const base = Math.min(0, line.least);
  return bottom - ((value - base) / (scaleTop(line.most, line.unit) - base)) * (bottom - top);
}

function traceLine(context: CanvasRenderingContext2D, line: Line, place: CounterPlace): void {
  const { at, value } = line;
  const { range, width } = place;
  let index = Math.max(0, countBelow(at, range.from) - 1);
  context.moveTo(xOf(at[index]!, range, width), yOf(value[index]!, line, place));
  while (index < at.length && at[index]! <= range.to) {
    const x = xOf(at[index]!, range, width);
    const behind = countBelow(at, nsAt(Math.floor(x) + 1, range, width), index);
    if (behind - index > 3) {
      context.lineTo(x, yOf(value[line.lowest.between(index, behind)]!, line, place));
      context.lineTo(x, yOf(value[line.highest.between(index, behind)]!, line, place));
      index = behind;
    } else {
      if (index > 0) context.lineTo(x, yOf(value[index - 1]!, line, place));
      context.lineTo(x, yOf(value[index]!, line, place));
      index += 1;
    }
  }
  context.lineTo(xOf(endOf(line, range), range, width), yOf(value[index - 1]!, line, place));
}

/** Where the line ends: a reading holds until the next one, and the last as long as there are readings. */
function endOf({ at }: Line, range: Range): number {
  return Math.min(at[at.length - 1]!, range.to);
}

function closeArea(context: CanvasRenderingContext2D, line: Line, place: CounterPlace): void {
  const { at } = line;
  const { range, width } = place;
  const first = Math.max(0, countBelow(at, range.from) - 1);
  context.lineTo(xOf(endOf(line, range), range, width), place.bottom);
  context.lineTo(xOf(at[first]!, range, width), place.bottom);
  context.closePath();
}
