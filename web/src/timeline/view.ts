// The timeline as a whole: what people do with it, and what others may ask of it.

import type { Timeline } from "../data";
import { showHint, showRange, showSlice, type DetailActions } from "./details";
import { spoken } from "./facts";
import { connected, UNCONNECTED } from "./flows";
import { formatCount, formatNs } from "./format";
import { Glide } from "./glide";
import { below } from "./hit_test";
import { listenToKeys, type KeyActions } from "./keyboard";
import { RULER_PX } from "./layout";
import { fillLegend } from "./legend";
import { neighbour, onOtherRow, visibleFirst } from "./neighbours";
import { Pointer, type PointerTarget } from "./pointer";
import { prepare, type Prepared, type Selected } from "./prepared";
import { lengthOf, nsAt, panned, withMargin, within, zoomed, type Range } from "./scale";
import type { Scene } from "./scene";
import { nextHit, sameName, search, type Hits } from "./search";
import { buildSkeleton, type Actions, type Skeleton } from "./skeleton";
import { Stage } from "./stage";
import { moveTip, showTip } from "./tip";

const ZOOM_STEP = 0.7;
const PAN_STEP = 0.2; // of what is in view
const TINY = 1 / 2000; // of what is in view: a slice that is shorter is not seen
const AROUND_TINY = 60; // how many times its length is shown around such a slice
const LEAST_AROUND_NS = 2000;

export interface TimelineOptions {
  label?: string; // what the timeline is of, for those who cannot see it
  onRange?: (fromNs: number, toNs: number) => void;
}

export interface TimelineView {
  readonly limits: Range;
  readonly range: Range; // what is in view
  /** Shows a part of the recording. */
  show(fromNs: number, toNs: number): void;
  /** The same at once, and without telling those who listen: for views that follow another. */
  setRange(fromNs: number, toNs: number): void;
  /** How far the view can be moved. */
  setLimits(fromNs: number, toNs: number): void;
  onRange(listen: (fromNs: number, toNs: number) => void): void;
  /** Selects a slice and brings it into view. */
  select(track: number, slice: number): void;
  /** Searches for a part of a name, and returns how many slices have it. */
  find(text: string): number;
  destroy(): void;
}

/** Puts a timeline into the place. */
export function mountTimeline(place: HTMLElement, timeline: Timeline, options: TimelineOptions = {}): TimelineView {
  return new View(place, prepare(timeline), options);
}

class View implements TimelineView {
  private readonly parts: Skeleton;
  private readonly stage: Stage;
  private readonly glide: Glide;
  private readonly gone = new AbortController();
  private readonly listeners: ((fromNs: number, toNs: number) => void)[] = [];
  private hits: Hits | null = null;
  private isPathShown = false;

  constructor(
    place: HTMLElement,
    private readonly prepared: Prepared,
    options: TimelineOptions,
  ) {
    this.parts = buildSkeleton(options.label ?? "Timeline of the recording", this.buttonActions());
    place.replaceChildren(this.parts.root);
    if (options.onRange) this.listeners.push(options.onRange);
    this.stage = new Stage(this.parts, prepared, ({ from, to }) => this.listeners.forEach((listen) => listen(from, to)));
    this.glide = new Glide(() => this.range, (range) => this.stage.moveTo(range));
    this.listen();
    this.describe();
    this.fillLegend();
  }

  get limits(): Range {
    return this.stage.limits;
  }

  get range(): Range {
    return this.scene.range;
  }

  show(fromNs: number, toNs: number): void {
    this.glide.to(within({ from: fromNs, to: toNs }, this.limits));
  }

  setRange(fromNs: number, toNs: number): void {
    this.glide.stop();
    this.stage.follow({ from: fromNs, to: toNs });
  }

  setLimits(fromNs: number, toNs: number): void {
    this.stage.setLimits({ from: fromNs, to: toNs });
  }

  onRange(listen: (fromNs: number, toNs: number) => void): void {
    this.listeners.push(listen);
  }

  select(track: number, slice: number): void {
    this.choose({ track, slice });
    this.stage.scrollTo({ track, slice });
    this.approach(this.spanOf({ track, slice }));
  }

  find(text: string): number {
    const hits = (this.hits = search(this.prepared, text));
    this.parts.searchField.value = text;
    this.parts.hitCount.textContent = !hits ? "" : hits.slices === 0 ? "no hit" : `${formatCount(hits.events, "hit")}, ${formatNs(hits.busyNs)}`;
    this.stage.markHits();
    this.emphasise();
    return hits?.slices ?? 0;
  }

  destroy(): void {
    this.gone.abort();
    this.glide.stop();
    this.stage.destroy();
    this.parts.root.remove();
  }

  // What is selected

  private get scene(): Scene {
    return this.stage.scene;
  }

  private choose(selected: Selected | null): void {
    this.scene.selected = selected;
    this.scene.measured = null;
    this.scene.connected = selected ? connected(this.prepared.timeline.flows, selected) : UNCONNECTED;
    this.parts.live.textContent = selected ? spoken(this.prepared, selected) : "";
    this.describe();
    this.stage.redraw();
  }

  private measure(fromX: number, toX: number, isDone: boolean): void {
    const [one, other] = [nsAt(fromX, this.range, this.stage.width), nsAt(toX, this.range, this.stage.width)];
    const measured = { from: Math.min(one, other), to: Math.max(one, other) };
    if (isDone) this.choose(null);
    this.scene.measured = measured;
    if (isDone) this.describe();
    if (isDone) this.parts.live.textContent = `${formatNs(lengthOf(measured))} chosen`;
    this.stage.redraw();
  }

  /** Fills the panel below. */
  private describe(): void {
    const { selected, measured, connected: others, palette } = this.scene;
    const { details: panel } = this.parts;
    const actions = this.detailActions();
    if (selected) showSlice({ panel, prepared: this.prepared, selected, connected: others, palette, actions });
    else if (measured) showRange(panel, this.prepared, measured, actions);
    else showHint(panel);
  }

  private spanOf({ track, slice }: Selected): Range {
    const { start, end } = this.prepared.rows[track]!.track.slices;
    return { from: start[slice]!, to: end[slice]! };
  }

  /** Moves, and zooms where it must, until the part is in sight. */
  private approach(part: Range): void {
    const { destination } = this.glide;
    const isTiny = lengthOf(part) < lengthOf(destination) * TINY;
    if (part.from >= destination.from && part.to <= destination.to && !isTiny) return;
    const length = isTiny ? Math.max(lengthOf(part) * AROUND_TINY, LEAST_AROUND_NS) : Math.max(lengthOf(destination), lengthOf(part) * 1.2);
    const middle = (part.from + part.to) / 2;
    this.show(middle - length / 2, middle + length / 2);
  }

  private go(to: Selected | null): void {
    if (to) this.select(to.track, to.slice);
  }

  /** Goes on from what is selected, or begins with the first slice in view. */
  private goOn(next: (from: Selected) => Selected | null): void {
    const { selected, layout } = this.scene;
    this.go(selected ? next(selected) : visibleFirst(layout, this.range));
  }

  private goSameName(direction: 1 | -1): void {
    if (this.scene.selected) this.go(sameName(this.prepared, this.scene.selected, direction));
  }

  private goHit(isBackwards: boolean): void {
    if (this.hits && this.hits.slices > 0) this.go(nextHit(this.prepared, this.hits, this.scene.selected, isBackwards));
  }

  private zoomToSelection(): void {
    const { selected, measured } = this.scene;
    const wanted = selected ? withMargin(this.spanOf(selected), 0.6) : measured;
    if (wanted) this.show(wanted.from, wanted.to);
  }

  private zoomBy(factor: number): void {
    const { destination } = this.glide;
    const middle = this.scene.cursor ?? (destination.from + destination.to) / 2;
    this.glide.to(within(zoomed(destination, factor, middle), this.limits));
  }

  private panBy(share: number): void {
    this.glide.to(within(panned(this.glide.destination, share), this.limits));
  }

  private showJudged(): void {
    const { judged } = this.prepared.timeline;
    if (judged) this.show(judged[0], judged[1]);
  }

  private clear(): void {
    if (this.hits) this.find("");
    this.choose(null);
  }

  private togglePath(): void {
    this.isPathShown = !this.isPathShown;
    this.parts.pathButton.setAttribute("aria-pressed", String(this.isPathShown));
    this.emphasise();
  }

  private emphasise(): void {
    this.scene.emphasis = this.hits ? "hits" : this.isPathShown ? "path" : "all";
    this.stage.redraw();
  }

  // What people do

  private listen(): void {
    const { signal } = this.gone;
    const { scroller, searchField, canvas } = this.parts;
    scroller.addEventListener("scroll", () => this.stage.redraw(), { signal });
    searchField.addEventListener("input", () => this.find(searchField.value), { signal });
    searchField.addEventListener("keydown", (event) => this.searchKey(event), { signal });
    for (const query of ["(prefers-color-scheme: dark)", "print", `(resolution: ${window.devicePixelRatio}dppx)`]) {
      matchMedia(query).addEventListener("change", () => this.recolour(), { signal });
    }
    document.addEventListener("themechange", () => this.recolour(), { signal }); // theme.ts
    for (const name of ["beforeprint", "afterprint"]) window.addEventListener(name, () => this.print(), { signal });
    listenToKeys(this.parts.root, this.keyActions(), signal);
    new Pointer(canvas, this.pointerTarget(), signal);
  }

  private recolour(): void {
    this.stage.recolour();
    this.fillLegend();
    this.describe();
  }

  /** Draws before the page is printed: afterwards is too late. */
  private print(): void {
    this.recolour();
    this.stage.drawNow();
  }

  private fillLegend(): void {
    const { palette, theme } = this.scene;
    fillLegend(this.parts.legend, this.prepared, palette, theme, {
      find: (text) => void this.find(text),
      togglePath: () => this.togglePath(),
      showJudged: () => this.showJudged(),
    });
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === "Enter") this.goHit(event.shiftKey);
    else if (event.key === "Escape") {
      this.find("");
      this.parts.scroller.focus();
    } else return;
    event.preventDefault();
  }

  private hover(at: { x: number; y: number } | null): void {
    const found = at ? below(this.scene, at.x, at.y, this.stage.width) : null;
    this.scene.hovered = found?.slice ?? null;
    this.scene.cursor = found?.ns ?? null;
    const { tip, canvas, root } = this.parts;
    showTip(tip, found, this.prepared, this.scene.palette);
    canvas.style.cursor = found?.part === "ruler" ? "col-resize" : found?.slice ? "pointer" : "default";
    if (at) {
      const [outer, inner] = [root.getBoundingClientRect(), canvas.getBoundingClientRect()];
      moveTip(tip, at.x + inner.left - outer.left, at.y + inner.top - outer.top, outer);
    }
    this.stage.redraw();
  }

  private pointerTarget(): PointerTarget {
    const sliceAt = (x: number, y: number): Selected | null => below(this.scene, x, y, this.stage.width).slice;
    return {
      isRuler: (y) => y < RULER_PX,
      grab: () => this.glide.stop(),
      move: (byPx) => this.stage.moveTo(panned(this.range, -byPx / this.stage.width)),
      zoom: (factor, x) => this.stage.moveTo(zoomed(this.range, factor, nsAt(x, this.range, this.stage.width))),
      measure: (fromX, toX, isDone) => this.measure(fromX, toX, isDone),
      click: (x, y) => {
        this.parts.scroller.focus({ preventScroll: true });
        this.choose(sliceAt(x, y));
      },
      open: (x, y) => {
        if (sliceAt(x, y)) this.zoomToSelection();
      },
      hover: (at) => this.hover(at),
    };
  }

  private buttonActions(): Actions {
    return {
      zoomIn: () => this.zoomBy(ZOOM_STEP),
      zoomOut: () => this.zoomBy(1 / ZOOM_STEP),
      reset: () => this.show(this.limits.from, this.limits.to),
      togglePath: () => this.togglePath(),
      nextHit: () => this.goHit(false),
      previousHit: () => this.goHit(true),
    };
  }

  private keyActions(): KeyActions {
    const beside = (direction: 1 | -1) => () => this.goOn((from) => neighbour(this.prepared, from, direction));
    const onRow = (direction: 1 | -1) => () => this.goOn((from) => onOtherRow(this.prepared, this.scene.layout, from, direction));
    return {
      ...this.buttonActions(),
      earlier: () => this.panBy(-PAN_STEP),
      later: () => this.panBy(PAN_STEP),
      showJudged: () => this.showJudged(),
      zoomToSelection: () => this.zoomToSelection(),
      focusSearch: () => this.parts.searchField.focus(),
      clear: () => this.clear(),
      nextSlice: beside(1),
      previousSlice: beside(-1),
      nextSameName: () => this.goSameName(1),
      previousSameName: () => this.goSameName(-1),
      rowBelow: onRow(1),
      rowAbove: onRow(-1),
    };
  }

  private detailActions(): DetailActions {
    return {
      zoom: () => this.zoomToSelection(),
      previous: () => this.goSameName(-1),
      next: () => this.goSameName(1),
      jump: (to) => this.go(to),
      clear: () => this.choose(null),
    };
  }
}
