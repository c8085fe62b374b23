// What a mark of a figure stands for, beside the pointer or the focus: the drawing's own <title>s, shown at once, and
// reached by the keyboard.
import { element } from "../dom";

const AWAY_PX = 14;
const MARK = ".mark";
const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

const meanings = new WeakMap<Element, string>();

/** Gives a mark its meaning: the first line is the heading. */
export function describe(mark: Element, meaning: string): void {
  meanings.set(mark, meaning);
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", meaning.replaceAll("\n", ", "));
}

/** Makes the marks of all figures of the page speak; arrow keys go from one to the next. */
export function liveFigures(): void {
  document.querySelectorAll<SVGSVGElement>("svg.figure").forEach(enliven);
  const tip = new Tip();
  document.addEventListener("pointerover", (event) => tip.follow(markAt(event.target), event));
  document.addEventListener("pointermove", (event) => tip.move(event));
  document.addEventListener("focusin", (event) => tip.follow(markAt(event.target), null));
  document.addEventListener("focusout", () => tip.follow(null, null));
  document.addEventListener("scroll", () => tip.follow(markAt(document.activeElement), null), { passive: true });
  document.addEventListener("keydown", (event) => (event.key === "Escape" ? tip.follow(null, null) : walk(event)));
}

function enliven(figure: SVGSVGElement): void {
  const marks = [...figure.querySelectorAll<SVGElement>(MARK)];
  if (!marks.length) return;
  figure.setAttribute("role", "group");
  figure.setAttribute("aria-label", taken(figure));
  marks.forEach((mark, place) => {
    describe(mark, taken(mark));
    mark.setAttribute("tabindex", place ? "-1" : "0");
  });
}

/** The text of an element's <title>, which is taken away: a browser would show it a second time. */
function taken(element: Element): string {
  const title = element.querySelector(":scope > title");
  title?.remove();
  return title?.textContent ?? "";
}

function markAt(target: EventTarget | null): Element | null {
  const mark = target instanceof Element ? target.closest(MARK) : null;
  return mark && meanings.has(mark) ? mark : null;
}

function walk(event: KeyboardEvent): void {
  const mark = markAt(document.activeElement);
  const figure = mark?.closest("svg.figure");
  const step = STEPS[event.key];
  if (!mark || !figure || !step) return;
  const marks = [...figure.querySelectorAll<SVGElement>(MARK)];
  const next = marks[marks.indexOf(mark as SVGElement) + step];
  if (!next) return;
  event.preventDefault();
  mark.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

class Tip {
  private readonly box = element("div", { class: "figure-tip" });
  private mark: Element | null = null;

  constructor() {
    this.box.setAttribute("aria-hidden", "true"); // the mark's label says the same
    document.body.append(this.box);
  }

  /** Shows what a mark means, beside the pointer or, without one, below the mark; hides for none. */
  follow(mark: Element | null, pointer: PointerEvent | null): void {
    this.mark = mark;
    this.box.classList.toggle("shown", mark !== null);
    if (!mark) return;
    const [heading, ...lines] = (meanings.get(mark) ?? "").split("\n");
    this.box.replaceChildren(element("strong", {}, heading ?? ""), ...lines.map((text) => element("span", {}, text)));
    const { left, bottom } = mark.getBoundingClientRect();
    if (pointer) this.move(pointer);
    else this.place(left, bottom);
  }

  move(pointer: PointerEvent): void {
    if (this.mark) this.place(pointer.clientX, pointer.clientY);
  }

  private place(x: number, y: number): void {
    const { offsetWidth, offsetHeight } = this.box;
    const left = x + AWAY_PX + offsetWidth > innerWidth ? Math.max(4, x - AWAY_PX - offsetWidth) : x + AWAY_PX;
    const top = y + AWAY_PX + offsetHeight > innerHeight ? Math.max(4, y - AWAY_PX - offsetHeight) : y + AWAY_PX;
    this.box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
