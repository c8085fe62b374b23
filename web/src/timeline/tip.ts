// What the pointer is at, beside it.

import { css, rgbOf, type Palette } from "./colours";
import { readingAt } from "./counter";
import { element } from "../dom";
import { fullName } from "./facts";
import { formatCount, formatNs, formatQuantity } from "./format";
import type { Below } from "./hit_test";
import { cutMiddle } from "./names";
import type { Prepared } from "./prepared";

const LONGEST_NAME = 400;
const AWAY_PX = 14;

/** Fills the tip, or hides it where there is nothing to say. */
export function showTip(tip: HTMLElement, below: Below | null, prepared: Prepared, palette: Palette): void {
  const lines = below ? linesOf(below, prepared, palette) : [];
  tip.replaceChildren(...lines);
  tip.classList.toggle("shown", lines.length > 0);
}

/** Puts the tip beside the pointer, inside the timeline. */
export function moveTip(tip: HTMLElement, x: number, y: number, room: { width: number; height: number }): void {
  const { offsetWidth, offsetHeight } = tip;
  const left = x + AWAY_PX + offsetWidth > room.width ? Math.max(0, x - AWAY_PX - offsetWidth) : x + AWAY_PX;
  const top = y + AWAY_PX + offsetHeight > room.height ? Math.max(0, y - AWAY_PX - offsetHeight) : y + AWAY_PX;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function linesOf({ slice, placed, ns }: Below, prepared: Prepared, palette: Palette): HTMLElement[] {
  const line = placed?.row?.line;
  if (line) return readingLines(readingAt(line, ns), ns, line.unit);
  if (!slice) return [];
  const { timeline } = prepared;
  const { name, start, end, count } = timeline.tracks[slice.track]!.slices;
  const swatch = element("span", { class: "timeline-swatch" });
  swatch.style.background = css(rgbOf(palette.pixels[name[slice.slice]!]!));
  const merged = count[slice.slice]! > 1 ? `, ${formatCount(count[slice.slice]!, "event")} merged` : "";
  return [
    element("strong", {}, swatch, element("bdi", { dir: "ltr" }, cutMiddle(fullName(timeline, name[slice.slice]!), LONGEST_NAME))),
    element("span", {}, `${formatNs(end[slice.slice]! - start[slice.slice]!)}, at ${formatNs(start[slice.slice]!)}${merged}`),
  ];
}

function readingLines(reading: number | null, ns: number, unit: string): HTMLElement[] {
  if (reading === null) return [];
  return [element("strong", {}, formatQuantity(reading, unit)), element("span", {}, `at ${formatNs(ns)}`)];
}
