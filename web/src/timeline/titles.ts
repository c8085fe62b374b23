// The titles of rows and groups beside the canvas: real text and real buttons.

import { element } from "../dom";
import type { Layout, Placed } from "./layout";
import { cutMiddle, visibleName } from "./names";

const LONGEST_TITLE = 120;

export interface TitleActions {
  toggleGroup: (group: string) => void;
  toggleRow: (track: number) => void;
}

/** Puts a title beside each row. A title that had the focus keeps it. */
export function placeTitles(layout: Layout, into: { pinned: HTMLElement; rows: HTMLElement }, actions: TitleActions): void {
  const focused = into.rows.querySelector<HTMLElement>(":focus")?.dataset["fold"];
  const titles = layout.rows.map((each) => titleOf(each, actions));
  into.pinned.style.height = `${layout.head}px`;
  into.pinned.replaceChildren(...layout.pinned.map((each) => titleOf(each, actions)));
  into.rows.style.top = `${layout.head}px`;
  into.rows.replaceChildren(...titles);
  if (focused) titles.find((each) => each.dataset["fold"] === focused)?.focus({ preventScroll: true });
}

function titleOf(placed: Placed, actions: TitleActions): HTMLElement {
  const { row } = placed;
  const text = cutMiddle(visibleName(row ? row.track.title : placed.group), LONGEST_TITLE);
  const isFoldable = !row || row.lanes.length > 1;
  const fold = row ? `row ${row.index}` : `group ${placed.group}`;
  const attributes = { class: row ? "timeline-title" : "timeline-title timeline-group", title: text, "data-fold": fold };
  const made = isFoldable
    ? element("button", { ...attributes, type: "button", "aria-expanded": String(placed.isOpen) }, element("span", {}, text))
    : element("div", attributes, element("span", {}, text));
  made.style.top = `${placed.y}px`;
  made.style.height = `${placed.height}px`;
  if (row && placed.isOpen && placed.contentY === placed.y) made.style.lineHeight = `${placed.lanePx}px`;
  if (isFoldable) made.addEventListener("click", () => (row ? actions.toggleRow(row.index) : actions.toggleGroup(placed.group)));
  return made;
}
