// Every number explains itself: its formula, the inputs, what is doubtful, and where it comes from.
import { element, pageData, quietButton } from "./dom";

interface Explanation {
  topic: string;
  formula?: string;
  unit?: string;
  inputs?: [string, string][];
  doubt?: string;
  unavailable?: string;
}

interface Source {
  tables: string[];
  files: string[];
  fields: string[];
}

const EXPLAINED = "[data-why]";
const NAME = "td.code";
const REACHED = `${EXPLAINED}, ${NAME}`; // by the arrow keys
const STEPS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Opens an explanation on click, Enter or blank; within a table the arrow keys go from number to number. */
export function explainNumbers(): void {
  const popover = new Popover(pageData<Explanation[]>("explanations"), pageData<Record<string, Source>>("sources"));
  for (const tip of document.querySelectorAll<HTMLElement>(".tip")) tip.hidden = false;
  for (const table of document.querySelectorAll("table")) enter(table);
  for (const alone of document.querySelectorAll<HTMLElement>(`${EXPLAINED}:not(td)`)) {
    alone.tabIndex = 0;
    alone.setAttribute("role", "button");
  }
  document.addEventListener("click", (event) => popover.follow(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") popover.close();
    const target = event.target;
    if (!(target instanceof HTMLElement) || !target.matches(REACHED)) return;
    if (event.key === "Enter" || event.key === " ") target.click();
    else if (event.key in STEPS) walk(target, STEPS[event.key]!);
    else return;
    event.preventDefault();
  });
}

/** Lets the keyboard into a table: its first cell takes the focus, the others are reached by arrows. */
function enter(table: HTMLTableElement): void {
  const cells = table.querySelectorAll<HTMLElement>(REACHED);
  if (!cells.length) return;
  table.setAttribute("role", "grid");
  cells.forEach((each, place) => (each.tabIndex = place ? -1 : 0));
}

function walk(from: HTMLElement, [down, right]: [number, number]): void {
  if (!(from instanceof HTMLTableCellElement)) return;
  let row: Element | null = from.parentElement;
  let column = from.cellIndex + right;
  do row = down < 0 ? row!.previousElementSibling : down > 0 ? row!.nextElementSibling : row;
  while (down && row instanceof HTMLElement && row.hidden);
  if (!(row instanceof HTMLTableRowElement)) return;
  for (; column >= 0 && column < row.cells.length; column += right || 1) {
    const cell = row.cells[column]!;
    if (cell.matches(REACHED)) {
      from.tabIndex = -1;
      cell.tabIndex = 0;
      cell.focus();
      return;
    }
    if (down) return;
  }
}

class Popover {
  private readonly box = element("div", { class: "why" });
  private subject: HTMLElement | null = null;

  constructor(
    private readonly explanations: Explanation[],
    private readonly sources: Record<string, Source>,
  ) {
    this.box.setAttribute("role", "dialog");
    this.box.setAttribute("aria-label", "How this number is made");
    this.box.tabIndex = -1;
  }

  /** Opens for a number, closes for anything else but itself. */
  follow(target: EventTarget | null): void {
    if (!(target instanceof Element) || this.box.contains(target)) return;
    const subject = target.closest<HTMLElement>(EXPLAINED);
    const again = subject === this.subject;
    this.close();
    if (subject && !again) this.open(subject);
  }

  close(): void {
    if (!this.subject) return;
    const held = this.box.contains(document.activeElement);
    this.box.remove();
    if (held) this.subject.focus();
    this.subject.removeAttribute("aria-expanded");
    this.subject = null;
  }

  private open(subject: HTMLElement): void {
    const explanation = this.explanations[Number(subject.dataset["why"])];
    if (!explanation) return;
    this.subject = subject;
    this.box.replaceChildren(...this.content(subject, explanation));
    document.body.append(this.box);
    this.place(subject.getBoundingClientRect());
    this.box.focus({ preventScroll: true });
  }

  private content(subject: HTMLElement, { topic, ...why }: Explanation): HTMLElement[] {
    const source = this.sources[topic];
    const facts: [string, string][] = [
      ["Exactly", exactly(subject.dataset["value"], why.unit)],
      ["Formula", why.formula ?? ""],
      ...(why.inputs ?? []),
      ["Doubtful", why.doubt ?? ""],
      ["No value", why.unavailable ?? ""],
      ["From", source?.tables.join(", ") ?? ""],
      ["In", source?.files.join(", ") ?? ""],
      ["--json", source?.fields.join(", ") ?? ""],
    ];
    return [element("h4", {}, `${named(subject)} ${shown(subject)}`.trim()), list(facts.filter(([, text]) => text)), this.ending()];
  }

  private ending(): HTMLElement {
    return quietButton("Close", () => this.close());
  }

  private place(around: DOMRect): void {
    const { width, height } = this.box.getBoundingClientRect();
    const left = Math.max(8, Math.min(around.left, document.documentElement.clientWidth - width - 8));
    const below = around.bottom + 6 + height <= innerHeight || around.top < height + 12;
    this.box.style.left = `${left + scrollX}px`;
    this.box.style.top = `${(below ? around.bottom + 6 : around.top - height - 6) + scrollY}px`;
  }
}

/** The heading of the column that a cell stands in. */
function named(subject: HTMLElement): string {
  if (!(subject instanceof HTMLTableCellElement)) return "";
  return subject.closest("table")?.tHead?.rows[0]?.cells[subject.cellIndex]?.textContent ?? "";
}

function shown(subject: HTMLElement): string {
  return subject.textContent?.trim() ?? "";
}

function exactly(value: string | undefined, unit: string | undefined): string {
  return value === undefined ? "" : `${value} ${unit ?? ""}`.trim();
}

function list(facts: [string, string][]): HTMLElement {
  const list = element("dl");
  for (const [name, text] of facts) list.append(element("dt", {}, name), element("dd", {}, text));
  return list;
}
