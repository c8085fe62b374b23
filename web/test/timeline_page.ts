// What the browser tests call on a page of their own.

import { linkTimelines, stepOffset } from "../src/timeline/link";
import { boxOf, type Scene } from "../src/timeline/scene";
import { mountTimeline, type TimelineView } from "../src/timeline/view";
import { readPayload } from "../src/payload";
import { synthetic } from "./synthetic";

interface Inside {
  scene: Scene;
  width: number;
  drawNow: () => void;
}

function stageOf(view: TimelineView): Inside {
  return (view as unknown as { stage: Inside }).stage;
}

/** The middle of a slice on the screen. */
function whereIs(view: TimelineView, track: number, slice: number): { x: number; y: number } {
  const { scene, width } = stageOf(view);
  const box = boxOf(scene, { track, slice }, width)!;
  const canvas = document.querySelector(".timeline-canvas")!.getBoundingClientRect();
  return { x: canvas.left + (Math.max(box.left, 0) + Math.min(box.right, width)) / 2, y: canvas.top + (box.top + box.bottom) / 2 };
}

/** What is selected, by track and slice. */
function selectedIn(view: TimelineView): [number, number] | null {
  const { selected } = stageOf(view).scene;
  return selected && [selected.track, selected.slice];
}

/** The times in ms of drawing each of some frames while the view moves, and between them. */
async function panning(view: TimelineView, share: number, frames: number): Promise<{ draw: number[]; between: number[] }> {
  const inside = stageOf(view);
  const times = { draw: [] as number[], between: [] as number[] };
  const draw = inside.drawNow.bind(inside);
  inside.drawNow = () => {
    const before = performance.now();
    draw();
    times.draw.push(performance.now() - before);
  };
  const { from, to } = view.limits;
  const length = (to - from) * share;
  let last = 0;
  for (let frame = 0; frame < frames; frame += 1) {
    const now = await new Promise<number>((tell) => requestAnimationFrame(tell));
    if (last > 0) times.between.push(now - last);
    last = now;
    const at = from + ((to - from - length) * frame) / frames;
    view.setRange(at, at + length);
  }
  inside.drawNow = draw;
  return times;
}

Object.assign(window, { mountTimeline, readPayload, synthetic, linkTimelines, stepOffset, whereIs, selectedIn, panning });
