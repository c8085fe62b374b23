// What the colours mean: causes of gaps, the critical path, the part that is judged. A click searches for it.

import { css, rgbOf, type Palette, type Theme, type Rgb } from "./colours";
import { element } from "./dom";
import type { Prepared } from "./prepared";

/** The names that take the series in turn, so that no two of them look alike: causes of gaps, and phases. */
export function orderedNames({ timeline }: Prepared): Map<number, number> {
  const ordered = new Map<number, number>();
  for (const kind of ["gaps", "phases"] as const) {
    const used = new Set<number>();
    for (const track of timeline.tracks) if (track.kind === kind) track.slices.name.forEach((name) => used.add(name));
    const sorted = [...used].sort((one, other) => (timeline.names[one]! < timeline.names[other]! ? -1 : 1));
    sorted.forEach((name, turn) => ordered.set(name, turn));
  }
  return ordered;
}

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
  const marks = [mark(theme.path, "critical path", hasPath(prepared)), mark(theme.accent, "judged part, steps", timeline.judged !== null)];
  const notes = [timeline.thinned, ...timeline.notes].filter((each) => each !== null && each !== "");
  legend.replaceChildren(...heading, ...entries, ...marks.flat(), ...notes.map((each) => element("li", { class: "timeline-note" }, each!)));
}

function hasPath({ rows }: Prepared): boolean {
  return rows.some((row) => row.lanes.some((lane) => lane.pathBefore !== null));
}

function mark(colour: Rgb, text: string, isThere: boolean): HTMLElement[] {
  return isThere ? [element("li", {}, swatch(colour), text)] : [];
}

function swatch(colour: Rgb): HTMLElement {
  const made = element("span", { class: "timeline-swatch" });
  made.style.background = css(colour);
  return made;
}
