// What the colours mean: causes of gaps, the critical path, the part that is judged. A click searches for it.

import { css, rgbOf, type Palette, type Theme, type Rgb } from "./colours";
import { button, element } from "../dom";
import type { Prepared } from "./prepared";

export interface LegendActions {
  find: (text: string) => void;
  togglePath: () => void;
  showJudged: () => void;
}

/** Fills the legend with what this recording has. */
export function fillLegend(legend: HTMLElement, prepared: Prepared, palette: Palette, theme: Theme, actions: LegendActions): void {
  const { timeline, labels } = prepared;
  const causes = new Set<number>();
  for (const track of timeline.tracks) if (track.kind === "gaps") track.slices.name.forEach((name) => causes.add(name));
  const entries = [...causes].map((name) => {
    const label = labels[name] ?? "";
    return entry(swatch(rgbOf(palette.pixels[name]!)), label, { title: `Search for ${label}`, act: () => actions.find(label) });
  });
  const heading = causes.size > 0 ? [element("li", { class: "timeline-legend-heading" }, "Idle because of")] : [];
  if (hasPath(prepared)) entries.push(entry(dash(theme.path), "critical path", { title: "Highlight the critical path (P)", act: actions.togglePath }));
  if (timeline.judged) entries.push(entry(dash(theme.ink), "judged part", { title: "Show the part that the verdict is about (G)", act: actions.showJudged }));
  legend.replaceChildren(...heading, ...entries);
}

function hasPath({ rows }: Prepared): boolean {
  return rows.some((row) => row.lanes.some((lane) => lane.pathBefore !== null));
}

function entry(sign: HTMLElement, text: string, { title, act }: { title: string; act: () => void }): HTMLElement {
  const made = button(text, { title }, act);
  made.prepend(sign);
  return element("li", {}, made);
}

function dash(colour: Rgb): HTMLElement {
  return swatch(colour, "timeline-swatch timeline-swatch-line");
}

function swatch(colour: Rgb, look = "timeline-swatch"): HTMLElement {
  const made = element("span", { class: look });
  made.style.background = css(colour);
  return made;
}
