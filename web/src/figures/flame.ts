// The flame graph of modules, operators and kernels: it zooms on click, searches, and is walked by the keyboard.
import { element, quietButton } from "../dom";
import { formatCount, formatNs, formatShare } from "../timeline/format";
import { cutMiddle, visibleName } from "../timeline/names";
import { laidOut, matching, neighbour, total, zoomed, type Cell, type FlameNode, type Measure, type Way } from "./flame_layout";
import { describe } from "./tip";

const SVG = "http://www.w3.org/2000/svg";
const ROW_PX = 20;
const LETTER_PX = 6.7; // of 11 px, on the wide side
const LEAST_PX = 0.7; // narrower cells are not drawn
const LABEL_PX = 28;
const LOOKS = { module: "fill-3", operator: "fill-1", kernel: "fill-2", copy: "fill-4" };
const WAYS: Record<string, Way> = { ArrowUp: "out", ArrowDown: "in", ArrowLeft: "before", ArrowRight: "after" };

/** Puts the flame graph of the document before the still one, which remains for print. */
export function flameGraph(document_: Record<string, unknown>): void {
  const place = document.querySelector<HTMLElement>("#operators .picture");
  const nodes = (document_["operators"] as { flame?: FlameNode[] } | undefined)?.flame ?? [];
  if (!place || !nodes.length) return;
  place.classList.add("live");
  place.prepend(new FlameGraph(nodes).box);
}

/** Elements of one flame graph, in `box`. */
export class FlameGraph {
  readonly box = element("div", { class: "flame" });
  private readonly picture = document.createElementNS(SVG, "svg");
  private readonly said = element("span", { class: "flame-said" });
  private readonly field = element("input");
  private readonly measure: Measure[];
  private cells: Cell[] = [];
  private focus: number | null = null;
  private current = 0;
  private drawnWidth = 0;

  constructor(private readonly nodes: FlameNode[]) {
    const measures: Measure[] = ["gpu_ns", "host_ns"];
    this.measure = measures.filter((each) => total(nodes, each) > 0);
    this.picture.setAttribute("class", "figure flame-cells");
    this.picture.setAttribute("role", "group");
    this.picture.setAttribute("aria-label", "Flame graph: arrow keys walk, Enter zooms, Escape shows all");
    this.box.append(this.tools(), this.picture);
    this.picture.addEventListener("click", (event) => this.zoom(placeOf(event.target)));
    this.picture.addEventListener("keydown", (event) => this.key(event));
    this.layOut();
    new ResizeObserver(() => {
      if (this.box.clientWidth !== this.drawnWidth) this.draw(); // its height follows from what is drawn
    }).observe(this.box);
  }

  private get time(): Measure {
    return this.measure[0] ?? "gpu_ns";
  }

  private tools(): HTMLElement {
    const tools = element("div", { class: "flame-tools" });
    this.field.type = "search";
    this.field.placeholder = "Search modules, operators, kernels";
    this.field.setAttribute("aria-label", this.field.placeholder);
    this.field.addEventListener("input", () => this.draw());
    this.said.setAttribute("role", "status");
    tools.append(this.field, quietButton("Zoom out", () => this.zoom(null)));
    if (this.measure.length > 1) {
      const other = quietButton("By host time", () => {
        this.measure.reverse();
        other.textContent = this.time === "gpu_ns" ? "By host time" : "By GPU time";
        this.focus = null;
        this.layOut();
        this.draw();
      });
      tools.append(other);
    }
    const kinds = new Set(this.nodes.map((node) => node.kind));
    tools.append(this.said, ...[...kinds].map((kind) => element("span", { class: `flame-kind ${kind}` }, kind)));
    return tools;
  }

  private layOut(): void {
    this.cells = laidOut(this.nodes, this.time);
  }

  private zoom(place: number | null): void {
    this.focus = place;
    this.current = place ?? 0;
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const place = placeOf(event.target);
    if (place === null) return;
    const way = WAYS[event.key];
    if (way) this.current = neighbour(this.nodes, this.seen(), place, way);
    else if (event.key === "Enter" || event.key === " ") this.zoom(place);
    else if (event.key === "Escape" && this.focus !== null) this.zoom(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (way) this.draw();
  }

  private seen(): Cell[] {
    const least = LEAST_PX / (this.box.clientWidth || 1);
    const focus = this.focus === null ? null : this.cells[this.focus]!;
    return zoomed(this.cells, focus).filter((cell) => cell.end - cell.start >= least);
  }

  private draw(): void {
    const width = this.box.clientWidth;
    if (!width) return;
    this.drawnWidth = width;
    const seen = this.seen();
    const search = matching(this.nodes, this.time, this.field.value);
    const rows = Math.max(...seen.map((cell) => cell.depth)) + 1;
    if (!seen.some((cell) => cell.place === this.current)) this.current = seen[0]?.place ?? 0;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${rows * ROW_PX}`);
    this.picture.setAttribute("height", String(rows * ROW_PX));
    this.picture.classList.toggle("searched", this.field.value.trim() !== "");
    const hadFocus = this.picture.contains(document.activeElement);
    this.picture.replaceChildren(...seen.map((cell) => this.cell(cell, width, search.matches.has(cell.place))));
    if (hadFocus) this.picture.querySelector<SVGElement>(`[data-place="${this.current}"]`)?.focus({ preventScroll: true });
    this.said.textContent = this.summary(search);
  }

  private summary(search: { matches: Set<number>; share: number }): string {
    const whole = `${formatNs(total(this.nodes, this.time))} of ${this.time === "gpu_ns" ? "GPU" : "host"} time`;
    if (!this.field.value.trim()) return whole;
    return `${formatCount(search.matches.size, "cell")} found, ${formatShare(search.share)} of ${whole}`;
  }

  private cell(cell: Cell, width: number, matched: boolean): SVGElement {
    const node = this.nodes[cell.place]!;
    const [left, room] = [cell.start * width, (cell.end - cell.start) * width];
    const group = drawn("g", { class: `mark${matched ? " match" : ""}`, tabindex: cell.place === this.current ? "0" : "-1" });
    group.dataset["place"] = String(cell.place);
    const look = `${LOOKS[node.kind]} tint${room > 3 ? " edged" : ""}`;
    group.append(drawn("rect", { x: left, y: cell.depth * ROW_PX, width: room, height: ROW_PX, class: look }));
    if (room >= LABEL_PX) {
      const label = drawn("text", { x: left + 4, y: cell.depth * ROW_PX + 14, "font-size": 11 });
      label.textContent = cutMiddle(visibleName(node.name), Math.max(1, Math.floor((room - 8) / LETTER_PX)));
      group.append(label);
    }
    describe(group, this.meaning(node));
    return group;
  }

  private meaning(node: FlameNode): string {
    const share = formatShare(node[this.time] / (total(this.nodes, this.time) || 1));
    const times = [`GPU ${formatNs(node.gpu_ns)}`, ...(node.host_ns ? [`host ${formatNs(node.host_ns)}`] : [])];
    return [cutMiddle(visibleName(node.name), 300), `${node.kind}, ${formatCount(node.calls, "call")}`, `${times.join(", ")} (${share})`].join("\n");
  }
}

function placeOf(target: EventTarget | null): number | null {
  const cell = target instanceof Element ? target.closest<SVGElement>("[data-place]") : null;
  return cell ? Number(cell.dataset["place"]) : null;
}

function drawn(name: "g" | "rect" | "text", attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value));
  return element;
}
