// Tables that sort, search and show more. All rows stand in the page; without this script all of them are shown.
import { element, quietButton } from "./dom";

export const SHOWN = 12;
const SEARCHED = 10; // rows from which on a search is offered

/** One cell as what it is sorted by: numbers by the number behind the text, which come before what has none. */
export interface SortKey {
  number: number | null;
  text: string;
}

/** Below zero where `one` comes first. What has no number comes last, whichever way it is sorted. */
export function compared(one: SortKey, other: SortKey, direction: 1 | -1): number {
  if (one.number !== null && other.number !== null) return direction * (one.number - other.number);
  if (one.number !== null || other.number !== null) return one.number !== null ? -1 : 1;
  return direction * one.text.localeCompare(other.text);
}

/** Whether a row holds every word that is searched for. */
export function matches(row: string, search: string): boolean {
  const text = row.toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Makes every table of the page sortable, and the long ones searchable, but for those that are pictures. */
export function liveTables(): void {
  for (const grid of document.querySelectorAll<HTMLElement>(".listing:not(.entire)")) new LiveTable(grid);
}

class LiveTable {
  private readonly body: HTMLTableSectionElement;
  private readonly rows: HTMLTableRowElement[];
  private readonly texts: string[];
  private readonly more: HTMLButtonElement;
  private all = false;
  private search = "";

  constructor(private readonly grid: HTMLElement) {
    this.body = grid.querySelector("tbody")!;
    this.rows = [...this.body.rows];
    this.texts = this.rows.map((row) => row.textContent ?? "");
    this.more = quietButton("", () => this.toggle());
    grid.querySelector(".scroll")!.after(this.more);
    if (this.rows.length > SEARCHED) this.addSearch();
    if (this.rows.length > 1) this.addSorting();
    this.body.addEventListener("click", (event) => unfold(event.target));
    this.show();
  }

  private addSearch(): void {
    const title = this.grid.querySelector("h4") ?? element("h4");
    const input = element("input");
    input.type = "search";
    input.placeholder = `Search ${this.rows.length} rows`;
    input.setAttribute("aria-label", `Search ${title.textContent || "this table"}`);
    input.addEventListener("input", () => {
      this.search = input.value.trim();
      this.show();
    });
    const header = element("header");
    title.before(header);
    if (!title.isConnected) this.grid.prepend(header);
    header.append(title, input);
  }

  private addSorting(): void {
    [...this.grid.querySelectorAll("th")].forEach((heading, column) => {
      const sort = element("button", {}, heading.textContent ?? "");
      sort.type = "button";
      sort.addEventListener("click", () => this.sort(heading, column));
      heading.replaceChildren(sort);
    });
  }

  private sort(heading: HTMLElement, column: number): void {
    const first = heading.classList.contains("number") ? "descending" : "ascending";
    const other = first === "descending" ? "ascending" : "descending";
    const order = heading.getAttribute("aria-sort") === first ? other : first;
    this.grid.querySelectorAll("th").forEach((each) => each.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", order);
    const keys = new Map(this.rows.map((row) => [row, key(row.cells[column]!)]));
    const direction = order === "ascending" ? 1 : -1;
    this.rows.sort((one, two) => compared(keys.get(one)!, keys.get(two)!, direction));
    this.texts.splice(0, this.texts.length, ...this.rows.map((row) => row.textContent ?? ""));
    this.body.append(...this.rows);
    this.show();
  }

  private toggle(): void {
    this.all = !this.all;
    this.show();
  }

  /** Shows the first rows of those that match, or all of them. */
  private show(): void {
    let matching = 0;
    this.rows.forEach((row, place) => {
      const shown = matches(this.texts[place]!, this.search) && (++matching <= SHOWN || this.all);
      row.hidden = !shown;
    });
    this.more.hidden = matching <= SHOWN;
    this.more.textContent = this.all ? `Show ${SHOWN}` : `Show all ${matching}`;
  }
}

function key(cell: HTMLTableCellElement): SortKey {
  const { value } = cell.dataset;
  return { number: value === undefined ? null : Number(value), text: cell.textContent ?? "" };
}

/** A name that was cut is shown in full, and cut again. */
function unfold(target: EventTarget | null): void {
  if (getSelection()?.isCollapsed === false) return;
  if (target instanceof Element) target.closest("td.code")?.classList.toggle("whole");
}
