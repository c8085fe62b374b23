// What is drawn above the rows: the slice that is selected, the one below the pointer, and arrows from launch to kernel.

import { css, type Rgb } from "./colours";
import { boxOf, type Box, type Scene } from "./scene";
import { xOf } from "./scale";

const ARROW_PX = 6;
const SHARPEST_BEND_PX = 18;

export function drawOverlay(context: CanvasRenderingContext2D, scene: Scene, width: number, height: number): void {
  drawCursor(context, scene, width, height);
  if (scene.hovered) outline(context, boxOf(scene, scene.hovered, width), scene.theme.inkSoft, 1);
  if (!scene.selected) return;
  const box = boxOf(scene, scene.selected, width);
  if (!box) return;
  drawFlows(context, scene, box, width);
  outline(context, box, scene.theme.ink, 2);
}

function drawFlows(context: CanvasRenderingContext2D, scene: Scene, box: Box, width: number): void {
  const { launchedBy, launched } = scene.connected;
  for (const other of launchedBy) {
    const from = boxOf(scene, other, width);
    if (from) drawArrow(context, from, box, scene);
  }
  for (const other of launched) {
    const to = boxOf(scene, other, width);
    if (to) drawArrow(context, box, to, scene);
  }
}

/** From where the launching call begins to where the launched work begins. */
function drawArrow(context: CanvasRenderingContext2D, from: Box, to: Box, { theme }: Scene): void {
  const isDown = to.top >= from.top;
  const y0 = isDown ? from.bottom : from.top;
  const y1 = isDown ? to.top : to.bottom;
  const bend = Math.max(Math.abs(to.left - from.left) / 3, SHARPEST_BEND_PX);
  for (const [colour, thickness] of [[theme.ground, 4.5], [theme.ink, 1.75]] as const) {
    context.strokeStyle = css(colour);
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(from.left, y0);
    context.bezierCurveTo(from.left + bend, y0, to.left - bend, y1, to.left, y1);
    context.stroke();
  }
  context.fillStyle = css(theme.ink);
  context.beginPath();
  context.moveTo(to.left + 1, y1);
  context.lineTo(to.left - ARROW_PX, y1 - ARROW_PX / 1.6);
  context.lineTo(to.left - ARROW_PX, y1 + ARROW_PX / 1.6);
  context.fill();
  context.beginPath();
  context.arc(from.left, y0, 3, 0, 2 * Math.PI);
  context.fill();
}

function outline(context: CanvasRenderingContext2D, box: Box | null, colour: Rgb, thickness: number): void {
  if (!box) return;
  const left = Math.max(box.left, -8);
  context.strokeStyle = css(colour);
  context.lineWidth = thickness;
  context.strokeRect(left - 0.5, box.top - 0.5, Math.min(box.right, 20_000) - left + 1, box.bottom - box.top + 1);
}

function drawCursor(context: CanvasRenderingContext2D, { cursor, range, theme }: Scene, width: number, height: number): void {
  if (cursor === null) return;
  context.fillStyle = css(theme.inkSoft, 0.5);
  context.fillRect(Math.round(xOf(cursor, range, width)), 0, 1, height);
}
