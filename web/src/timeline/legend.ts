// What the colours mean: causes of gaps, the critical path, the part that is judged. A click searches for it.

import { css, rgbOf, type Palette, type Theme, type Rgb } from "./colours";
import { element } from "./dom";
import type { Prepared } from "./prepared";

/** Fills the legend with what this recording has. */
export function fillLegend(legend: HTMLElement, prepared: Prepared, palette: Palette, theme: Theme, find: (text: string) => void): void {
  const { timeline, labels } = prepared;
  const causes = new Set<number>();
  for (const track of timeline.tracks) if (track.kind === "gaps") track.slices.name.forEach((name) => causes.add(name));
  const entries = [...causes].map((name) => {
    const label = labels[name] ?? "";
    const pressed = element("button", { type: "button", title: `Search for ${label}` }, swatch(rgbOf(palette.pixels[name]!)), label);
    pressed.addEventListener("click", () => find(label));
    return element("li", {}, pressed);
  });
  const heading = entries.length > 0 ? [element("li", { class: "timeline-legend-heading" }, "Idle because of")] : [];
  const marks = [mark(theme.path, "critical path", hasPath(prepared)), mark(theme.ink, "judged part", timeline.judged !== null)];
  const notes = [timeline.thinned, ...timeline.notes].filter((each) => each !== null && each !== "");
  legend.replaceChildren(...heading, ...entries, ...marks.flat(), ...notes.map((each) => element("li", { class: "timeline-note" }, each!)));
}

function hasPath({ rows }: Prepared): boolean {
  return rows.some((row) => row.lanes.some((lane) => lane.pathBefore !== null));
}

function mark(colour: Rgb, text: string, isThere: boolean): HTMLElement[] {
  return isThere ? [element("li", {}, swatch(colour, "timeline-swatch timeline-swatch-line"), text)] : [];
}

function swatch(colour: Rgb, look = "timeline-swatch"): HTMLElement {
  const made = element("span", { class: look });
  made.style.background = css(colour);
  return made;
}
