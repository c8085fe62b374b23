// The elements that a timeline is made of. What they do is in view.ts.

import { button, element, symbolButton } from "../dom";

export interface Skeleton {
  root: HTMLElement;
  searchField: HTMLInputElement;
  hitCount: HTMLElement;
  extent: HTMLElement;
  pathButton: HTMLButtonElement;
  minimap: HTMLCanvasElement;
  scroller: HTMLElement;
  space: HTMLElement;
  canvas: HTMLCanvasElement;
  pinnedTitles: HTMLElement;
  titles: HTMLElement;
  tip: HTMLElement;
  legend: HTMLElement;
  details: HTMLElement;
  live: HTMLElement;
}

export interface Actions {
  zoomIn: () => void;
  zoomOut: () => void;
  reset: () => void;
  togglePath: () => void;
  previousHit: () => void;
  nextHit: () => void;
}

const KEYS: readonly (readonly [string, string])[] = [
  ["W / S", "zoom in, zoom out"],
  ["A / D, ← / →", "earlier, later"],
  ["Ctrl + wheel, pinch", "zoom"],
  ["drag, Shift + wheel", "move"],
  ["drag on the ruler", "measure a range"],
  ["F", "zoom to the selection"],
  ["0, Home", "the whole recording"],
  ["G", "the part that is judged"],
  [", / .", "previous, next slice of the row"],
  ["J / K", "row below, row above"],
  ["[ / ]", "previous, next of the same name"],
  ["/", "search"],
  ["Enter, N / Shift + N", "next, previous hit"],
  ["P", "critical path"],
  ["Esc", "clear"],
];

export function buildSkeleton(title: string, actions: Actions): Skeleton {
  const searchField = element("input", { type: "search", placeholder: "Search names  ( / )", "aria-label": "Search the timeline", spellcheck: "false", autocomplete: "off" });
  const hitCount = element("span", { class: "timeline-hits", role: "status" });
  const extent = element("span", { class: "timeline-extent" });
  const pathButton = button("Critical path", { title: "Highlight the critical path (P)" }, actions.togglePath);
  pathButton.setAttribute("aria-pressed", "false");
  const minimap = element("canvas", { class: "timeline-minimap", "aria-hidden": "true" });
  const canvas = element("canvas", { class: "timeline-canvas", "aria-hidden": "true" });
  const pinnedTitles = element("div", { class: "timeline-titles timeline-pinned" });
  const titles = element("div", { class: "timeline-titles" });
  const space = element("div", { class: "timeline-space" }, pinnedTitles, titles, canvas);
  const scroller = element("div", { class: "timeline-scroller", tabindex: "0", role: "group", "aria-roledescription": "timeline", "aria-label": `${title}. W and S zoom, A and D move, comma and full stop select slices.` }, space);
  const tip = element("div", { class: "timeline-tip", "aria-hidden": "true" });
  const legend = element("ul", { class: "timeline-legend", "aria-label": "Legend" });
  const details = element("section", { class: "timeline-details", "aria-label": "Selection" });
  const live = element("p", { class: "timeline-live", "aria-live": "polite" });
  const bar = buildBar({ searchField, hitCount, pathButton }, actions);
  const overview = element("div", { class: "timeline-overview" }, extent, minimap);
  const root = element("div", { class: "timeline" }, bar, overview, scroller, legend, details, live, tip);
  return { root, searchField, hitCount, extent, pathButton, minimap, scroller, space, canvas, pinnedTitles, titles, tip, legend, details, live };
}

function buildBar(parts: Pick<Skeleton, "searchField" | "hitCount" | "pathButton">, actions: Actions): HTMLElement {
  return element(
    "div",
    { class: "timeline-bar" },
    element(
      "div",
      { class: "timeline-search" },
      parts.searchField,
      symbolButton("‹", "Previous hit (Shift + N)", actions.previousHit),
      symbolButton("›", "Next hit (N)", actions.nextHit),
      parts.hitCount,
    ),
    element(
      "div",
      { class: "timeline-buttons" },
      parts.pathButton,
      symbolButton("−", "Zoom out (S)", actions.zoomOut),
      symbolButton("+", "Zoom in (W)", actions.zoomIn),
      button("Whole", { title: "Show the whole recording (0)" }, actions.reset),
      keysHelp(),
    ),
  );
}

function keysHelp(): HTMLElement {
  const list = element("dl", {});
  for (const [key, meaning] of KEYS) list.append(element("dt", {}, key), element("dd", {}, meaning));
  return element("details", { class: "timeline-keys" }, element("summary", {}, "Keys"), list);
}
