// The ruler: ticks with their times, the steps, and the part of the recording that the verdict is about.

import { css, type Rgb } from "./colours";
import { formatMoment, formatNs } from "./format";
import { countBelow } from "./lanes";
import { RULER_PX } from "./layout";
import { lengthOf, tickStep, xOf } from "./scale";
import type { Scene } from "./scene";

const LEAST_TICK_PX = 96;
const LEAST_STEP_PX = 30; // where steps are closer, their lines would hide the rows

/** Lines through all rows: ticks, and where steps begin. */
export function drawGrid(context: CanvasRenderingContext2D, scene: Scene, width: number, height: number): void {
  const { range, theme } = scene;
  const step = tickStep(range, width, LEAST_TICK_PX);
  context.fillStyle = css(theme.line, 0.55);
  for (let tick = Math.ceil(range.from / step) * step; tick < range.to; tick += step) {
    context.fillRect(Math.round(xOf(tick, range, width)), RULER_PX, 1, height);
  }
  context.fillStyle = css(theme.inkSoft, 0.2);
  eachStep(scene, width, (x) => context.fillRect(Math.round(x), RULER_PX, 1, height));
}

export function drawRuler(context: CanvasRenderingContext2D, scene: Scene, width: number): void {
  const { range, theme } = scene;
  context.fillStyle = css(theme.surface);
  context.fillRect(0, 0, width, RULER_PX);
  drawJudged(context, scene, width);
  const step = tickStep(range, width, LEAST_TICK_PX);
  context.textBaseline = "middle";
  for (let tick = Math.ceil(range.from / step) * step; tick < range.to; tick += step) {
    const x = Math.round(xOf(tick, range, width));
    context.fillStyle = css(theme.inkSoft);
    context.fillRect(x, RULER_PX - 8, 1, 8);
    context.fillStyle = css(theme.ink);
    context.fillText(formatMoment(tick, step), x + 4, RULER_PX - 11);
  }
  context.fillStyle = css(theme.line);
  context.fillRect(0, RULER_PX - 1, width, 1);
}

/** The part chosen on the ruler, through all rows, with its length. */
export function drawMeasured(context: CanvasRenderingContext2D, scene: Scene, width: number, height: number): void {
  if (!scene.measured) return;
  const { range, theme, measured } = scene;
  const left = xOf(measured.from, range, width);
  const right = xOf(measured.to, range, width);
  context.fillStyle = css(theme.accent, 0.1);
  context.fillRect(left, 0, right - left, height);
  context.fillStyle = css(theme.accent);
  context.fillRect(Math.round(left), 0, 1, height);
  context.fillRect(Math.round(right) - 1, 0, 1, height);
  const middle = (Math.max(left, 0) + Math.min(right, width)) / 2;
  drawFlag(context, { text: formatNs(lengthOf(measured)), middle, width, colour: theme.accent, ink: theme.ground });
}

/** The moment below the pointer. */
export function drawMoment(context: CanvasRenderingContext2D, scene: Scene, width: number): void {
  const { cursor, range, theme } = scene;
  if (cursor === null) return;
  const step = tickStep(range, width, LEAST_TICK_PX) / 10;
  drawFlag(context, { text: formatMoment(Math.round(cursor / step) * step, step), middle: xOf(cursor, range, width), width, colour: theme.ink, ink: theme.ground });
}

function drawFlag(context: CanvasRenderingContext2D, flag: { text: string; middle: number; width: number; colour: Rgb; ink: Rgb }): void {
  const room = context.measureText(flag.text).width + 12;
  const x = Math.min(Math.max(flag.middle - room / 2, 0), flag.width - room);
  context.fillStyle = css(flag.colour);
  context.fillRect(x, 2, room, 16);
  context.fillStyle = css(flag.ink);
  context.textBaseline = "middle";
  context.fillText(flag.text, x + 6, 10.5);
}

function drawJudged(context: CanvasRenderingContext2D, { prepared, range, theme }: Scene, width: number): void {
  const { judged } = prepared.timeline;
  if (!judged) return;
  const left = Math.max(xOf(judged[0], range, width), 0);
  const right = Math.min(xOf(judged[1], range, width), width);
  if (right <= left) return;
  context.fillStyle = css(theme.ink);
  context.fillRect(left, 0, right - left, 2);
}

function eachStep({ prepared, range }: Scene, width: number, draw: (x: number) => void): void {
  const { steps } = prepared.timeline;
  const first = countBelow(steps, range.from);
  const behind = countBelow(steps, range.to, first);
  const room = xOf(steps[behind - 1] ?? 0, range, width) - xOf(steps[first] ?? 0, range, width);
  if (behind - first > 1 && room / (behind - first - 1) < LEAST_STEP_PX) return;
  for (let step = first; step < behind; step += 1) draw(xOf(steps[step]!, range, width));
}
