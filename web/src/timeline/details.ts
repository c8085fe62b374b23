// The panel below the timeline: everything known of what is selected, and buttons that lead on.

import { css, rgbOf, type Palette } from "./colours";
import { button, element } from "../dom";
import { factsOf, factsOfRange, fullName, rowName, type Fact } from "./facts";
import type { Connected } from "./flows";
import { formatNs } from "./format";
import type { Prepared, Selected } from "./prepared";
import type { Range } from "./scale";

const MOST_LINKS = 6;
const HINT = "Click a slice to see what is known of it. Drag on the ruler to measure. W and S zoom, A and D move.";

export interface DetailActions {
  zoom: () => void;
  previous: () => void;
  next: () => void;
  jump: (to: Selected) => void;
  clear: () => void;
}

export function showHint(panel: HTMLElement): void {
  panel.replaceChildren(element("p", { class: "timeline-hint" }, HINT));
}

export function showRange(panel: HTMLElement, prepared: Prepared, range: Range, actions: DetailActions): void {
  panel.replaceChildren(
    element("h3", {}, "Chosen range"),
    element("div", { class: "timeline-actions" }, button("Zoom to it", { title: "Zoom to the range (F)" }, actions.zoom), button("Clear", { title: "Clear the range (Esc)" }, actions.clear)),
    listOf(factsOfRange(prepared, range)),
  );
}

export function showSlice(given: { panel: HTMLElement; prepared: Prepared; selected: Selected; connected: Connected; palette: Palette; actions: DetailActions }): void {
  const { panel, prepared, selected, connected, palette, actions } = given;
  const name = prepared.timeline.tracks[selected.track]!.slices.name[selected.slice]!;
  const swatch = element("span", { class: "timeline-swatch" });
  swatch.style.background = css(rgbOf(palette.pixels[name]!));
  panel.replaceChildren(
    element("h3", {}, swatch, element("bdi", { dir: "ltr" }, fullName(prepared.timeline, name))),
    element(
      "div",
      { class: "timeline-actions" },
      button("Zoom to it", { title: "Zoom to the slice (F)" }, actions.zoom),
      button("‹ Same name", { title: "Previous slice of this name ([)" }, actions.previous),
      button("Same name ›", { title: "Next slice of this name (])" }, actions.next),
      button("Clear", { title: "Clear the selection (Esc)" }, actions.clear),
    ),
    listOf(factsOf(prepared, selected)),
    ...links("Launched by", connected.launchedBy, given),
    ...links("Launches", connected.launched, given),
  );
}

function links(heading: string, others: readonly Selected[], given: { prepared: Prepared; selected: Selected; actions: DetailActions }): HTMLElement[] {
  if (others.length === 0) return [];
  const list = element("ul", { class: "timeline-links" });
  for (const other of others.slice(0, MOST_LINKS)) list.append(element("li", {}, linkTo(other, given)));
  if (others.length > MOST_LINKS) list.append(element("li", {}, `and ${others.length - MOST_LINKS} more`));
  return [element("h4", {}, heading), list];
}

function linkTo(other: Selected, { prepared, selected, actions }: { prepared: Prepared; selected: Selected; actions: DetailActions }): HTMLButtonElement {
  const { timeline, labels } = prepared;
  const slices = timeline.tracks[other.track]!.slices;
  const by = slices.start[other.slice]! - timeline.tracks[selected.track]!.slices.start[selected.slice]!;
  const when = by >= 0 ? `${formatNs(by)} later` : `${formatNs(-by)} earlier`;
  const label = labels[slices.name[other.slice]!] ?? "";
  return button(`${label} · ${when}`, { title: `Go to ${label} on ${rowName(timeline, other.track)}` }, () => actions.jump(other));
}

function listOf(facts: readonly Fact[]): HTMLElement {
  const list = element("dl", {});
  for (const [label, text] of facts) list.append(element("div", {}, element("dt", {}, label), element("dd", {}, element("bdi", { dir: "ltr" }, text))));
  return list;
}
