// The timeline as a whole: holds what is shown, and lets its parts act on it.

import type { Timeline } from "../data";
import { paletteOf, readTheme } from "./colours";
import { showHint, showRange, showSlice, type DetailActions } from "./details";
import { spoken } from "./facts";
import { connected, UNCONNECTED } from "./flows";
import { formatCount, formatNs } from "./format";
import { Glide } from "./glide";
import { below } from "./hit_test";
import { listenToKeys } from "./keyboard";
import { layOut, RULER_PX } from "./layout";
import { fillLegend } from "./legend";
import { looksOf } from "./looks";
import { Minimap } from "./minimap";
import { neighbour, onOtherRow, visibleFirst } from "./neighbours";
import { Painter } from "./painter";
import { Pointer } from "./pointer";
import { prepare, type Prepared, type Selected } from "./prepared";
import { lengthOf, nsAt, panned, withMargin, within, zoomed, type Range } from "./scale";
import { boxOf, type Scene } from "./scene";
import { nextHit, sameName, search, type Hits } from "./search";
import { buildSkeleton, type Skeleton } from "./skeleton";
import { moveTip, showTip } from "./tip";
import { placeTitles } from "./titles";

const NARROW_PX = 640; // below, titles stand above their rows
const ZOOM_STEP = 0.7;
const PAN_STEP = 0.2; // of what is in view
const MOST_OPEN_LANES = 20; // rows with more are folded at first
const MOST_PRINTED_PX = 3000;

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
  limits: Range;
  private readonly parts: Skeleton;
  private readonly painter: Painter;
  private readonly minimap: Minimap;
  private readonly glide: Glide;
  private readonly scene: Scene;
  private readonly gone = new AbortController();
  private readonly resizes: ResizeObserver;
  private readonly foldedGroups = new Set<string>();
  private readonly foldedRows = new Set<number>();
  private readonly listeners: ((fromNs: number, toNs: number) => void)[] = [];
  private hits: Hits | null = null;
  private isPathShown = false;
  private width = 1;
  private frame = 0;

  constructor(
    place: HTMLElement,
    private readonly prepared: Prepared,
    options: TimelineOptions,
  ) {
    for (const row of prepared.rows) if (row.lanes.length > MOST_OPEN_LANES) this.foldedRows.add(row.index);
    this.limits = { from: 0, to: Math.max(prepared.timeline.lengthNs, 1) };
    this.parts = buildSkeleton(options.label ?? "Timeline of the recording", this.buttonActions());
    place.replaceChildren(this.parts.root);
    const theme = readTheme(this.parts.root);
    this.scene = {
      prepared,
      layout: layOut(prepared.rows, { groups: this.foldedGroups, rows: this.foldedRows }, false),
      range: { ...this.limits },
      scrollTop: 0,
      theme,
      palette: paletteOf(prepared.timeline.labels, looksOf(prepared), theme),
      emphasis: "all",
      selected: null,
      hovered: null,
      connected: UNCONNECTED,
      measured: null,
      cursor: null,
    };
    this.painter = new Painter(this.parts.canvas, prepared);
    this.minimap = new Minimap(this.parts.minimap, prepared, { limits: () => this.limits, range: () => this.scene.range, show: (range) => this.moveTo(range) });
    this.glide = new Glide(() => this.scene.range, (range) => this.moveTo(range));
    if (options.onRange) this.listeners.push(options.onRange);
    this.resizes = new ResizeObserver(() => this.resize());
    this.listen();
    this.describe();
    this.fillLegend();
    this.resize();
  }

  get range(): Range {
    return this.scene.range;
  }

  show(fromNs: number, toNs: number): void {
    this.glide.to(within({ from: fromNs, to: toNs }, this.limits));
  }

  setRange(fromNs: number, toNs: number): void {
    this.glide.stop();
    this.scene.range = within({ from: fromNs, to: toNs }, this.limits);
    this.redraw();
  }

  setLimits(fromNs: number, toNs: number): void {
    this.limits = { from: fromNs, to: toNs };
    this.resize();
    this.setRange(this.scene.range.from, this.scene.range.to);
  }

  onRange(listen: (fromNs: number, toNs: number) => void): void {
    this.listeners.push(listen);
  }

  select(track: number, slice: number): void {
    this.choose({ track, slice });
    this.reveal({ track, slice });
  }

  find(text: string): number {
    this.parts.searchField.value = text;
    this.hits = search(this.prepared, text);
    this.minimap.mark();
    this.emphasise();
    const { hits } = this;
    this.parts.hitCount.textContent = !hits ? "" : hits.slices === 0 ? "no hit" : `${formatCount(hits.events, "hit")}, ${formatNs(hits.busyNs)}`;
    return hits?.slices ?? 0;
  }

  destroy(): void {
    this.gone.abort();
    this.resizes.disconnect();
    this.glide.stop();
    cancelAnimationFrame(this.frame);
    this.parts.root.remove();
  }

  // What is shown

  private moveTo(range: Range): void {
    this.scene.range = within(range, this.limits);
    for (const listen of this.listeners) listen(this.scene.range.from, this.scene.range.to);
    this.redraw();
  }

  private redraw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.drawNow());
  }

  private drawNow(): void {
    this.frame = 0;
    this.scene.scrollTop = this.parts.scroller.scrollTop;
    this.painter.draw(this.scene);
    this.minimap.draw(this.scene.theme);
    const { range } = this.scene;
    this.parts.extent.textContent = `${formatNs(lengthOf(range))} in view`;
  }

  private resize(): void {
    const { root, scroller, canvas, minimap } = this.parts;
    const isNarrow = root.clientWidth < NARROW_PX;
    root.classList.toggle("narrow", isNarrow);
    this.scene.layout = layOut(this.prepared.rows, { groups: this.foldedGroups, rows: this.foldedRows }, isNarrow);
    const { layout, theme } = this.scene;
    this.parts.space.style.height = `${layout.head + layout.height}px`;
    placeTitles(layout, { pinned: this.parts.pinnedTitles, rows: this.parts.titles }, { toggleGroup: (group) => this.toggle(this.foldedGroups, group), toggleRow: (row) => this.toggle(this.foldedRows, row) });
    const ratio = window.devicePixelRatio || 1;
    const height = Math.min(scroller.clientHeight, layout.head + layout.height, MOST_PRINTED_PX);
    canvas.style.height = `${height}px`;
    this.width = Math.max(1, canvas.clientWidth);
    this.painter.resize(this.width, height, ratio);
    this.minimap.prepare(theme, Math.max(1, minimap.clientWidth), minimap.clientHeight, ratio);
    this.redraw();
  }

  private recolour(): void {
    this.scene.theme = readTheme(this.parts.root);
    this.scene.palette = paletteOf(this.prepared.timeline.labels, looksOf(this.prepared), this.scene.theme);
    this.fillLegend();
    this.describe();
    this.resize();
  }

  private fillLegend(): void {
    const actions = { find: (text: string) => void this.find(text), togglePath: () => this.togglePath(), showJudged: () => this.showJudged() };
    fillLegend(this.parts.legend, this.prepared, this.scene.palette, this.scene.theme, actions);
  }

  private toggle<Key>(folded: Set<Key>, key: Key): void {
    if (!folded.delete(key)) folded.add(key);
    this.resize();
  }

  private emphasise(): void {
    this.scene.emphasis = this.hits ? "hits" : this.isPathShown ? "path" : "all";
    this.redraw();
  }

  // What is selected

  private choose(selected: Selected | null): void {
    this.scene.selected = selected;
    this.scene.measured = null;
    this.scene.connected = selected ? connected(this.prepared.timeline.flows, selected) : UNCONNECTED;
    this.parts.live.textContent = selected ? spoken(this.prepared, selected) : "";
    this.describe();
    this.redraw();
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

  /** Unfolds, scrolls and moves until the slice is in sight. */
  private reveal(selected: Selected): void {
    const { track } = this.prepared.rows[selected.track]!;
    const isFolded = this.foldedGroups.delete(track.group);
    if (this.foldedRows.delete(selected.track) || isFolded) this.resize();
    const { scroller } = this.parts;
    this.scene.scrollTop = scroller.scrollTop;
    const box = boxOf(this.scene, selected, this.width);
    if (box && box.top < this.scene.layout.head) scroller.scrollTop += box.top - this.scene.layout.head - 20;
    if (box && box.bottom > scroller.clientHeight) scroller.scrollTop += box.bottom - scroller.clientHeight + 20;
    const slice = this.spanOf(selected);
    const { destination } = this.glide;
    const isInView = slice.from >= destination.from && slice.to <= destination.to;
    const isTiny = lengthOf(slice) < lengthOf(destination) / 2000;
    if (isInView && !isTiny) return;
    const length = isTiny ? Math.max(lengthOf(slice) * 60, 2000) : Math.max(lengthOf(destination), lengthOf(slice) * 1.2);
    const middle = (slice.from + slice.to) / 2;
    this.show(middle - length / 2, middle + length / 2);
  }

  private spanOf({ track, slice }: Selected): Range {
    const { start, end } = this.prepared.rows[track]!.track.slices;
    return { from: start[slice]!, to: end[slice]! };
  }

  private go(to: Selected | null): void {
    if (to) this.select(to.track, to.slice);
  }

  private goSameName(direction: 1 | -1): void {
    if (this.scene.selected) this.go(sameName(this.prepared, this.scene.selected, direction));
  }

  private goSlice(direction: 1 | -1): void {
    const { selected } = this.scene;
    this.go(selected ? neighbour(this.prepared, selected, direction) : visibleFirst(this.scene.layout, this.scene.range));
  }

  private goRow(direction: 1 | -1): void {
    const { selected } = this.scene;
    this.go(selected ? onOtherRow(this.prepared, this.scene.layout, selected, direction) : visibleFirst(this.scene.layout, this.scene.range));
  }

  private goHit(isBackwards: boolean): void {
    if (this.hits && this.hits.slices > 0) this.go(nextHit(this.prepared, this.hits, this.scene.selected, isBackwards));
  }

  private zoomToSelection(): void {
    const { selected, measured } = this.scene;
    const wanted = selected ? withMargin(this.spanOf(selected), 0.6) : measured;
    if (wanted) this.show(wanted.from, wanted.to);
  }

  private zoomBy(factor: number, at?: number): void {
    const { destination } = this.glide;
    const middle = at ?? this.scene.cursor ?? (destination.from + destination.to) / 2;
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

  // What people do

  private listen(): void {
    const { signal } = this.gone;
    const { scroller, searchField, canvas, pathButton } = this.parts;
    this.resizes.observe(this.parts.root);
    pathButton.setAttribute("aria-pressed", "false");
    scroller.addEventListener("scroll", () => this.redraw(), { signal });
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

  private print(): void {
    this.recolour();
    this.drawNow();
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === "Enter") this.goHit(event.shiftKey);
    else if (event.key === "Escape") {
      this.find("");
      this.parts.scroller.focus();
    } else return;
    event.preventDefault();
  }

  private measure(fromX: number, toX: number, isDone: boolean): void {
    const [one, other] = [nsAt(fromX, this.scene.range, this.width), nsAt(toX, this.scene.range, this.width)];
    this.scene.selected = null;
    this.scene.connected = UNCONNECTED;
    this.scene.measured = { from: Math.min(one, other), to: Math.max(one, other) };
    if (isDone) {
      this.describe();
      this.parts.live.textContent = `${formatNs(lengthOf(this.scene.measured))} chosen`;
    }
    this.redraw();
  }

  private hover(at: { x: number; y: number } | null): void {
    const found = at ? below(this.scene, at.x, at.y, this.width) : null;
    this.scene.hovered = found?.slice ?? null;
    this.scene.cursor = found?.ns ?? null;
    const { tip, canvas, root } = this.parts;
    showTip(tip, found, this.prepared, this.scene.palette);
    canvas.style.cursor = found?.part === "ruler" ? "col-resize" : found?.slice ? "pointer" : "default";
    if (at) {
      const [outer, inner] = [root.getBoundingClientRect(), canvas.getBoundingClientRect()];
      moveTip(tip, at.x + inner.left - outer.left, at.y + inner.top - outer.top, outer);
    }
    this.redraw();
  }

  private pointerTarget(): ConstructorParameters<typeof Pointer>[1] {
    return {
      isRuler: (y) => y < RULER_PX,
      grab: () => this.glide.stop(),
      move: (byPx) => this.moveTo(panned(this.scene.range, -byPx / this.width)),
      zoom: (factor, x) => this.moveTo(zoomed(this.scene.range, factor, nsAt(x, this.scene.range, this.width))),
      measure: (fromX, toX, isDone) => this.measure(fromX, toX, isDone),
      click: (x, y) => {
        this.parts.scroller.focus({ preventScroll: true });
        this.choose(below(this.scene, x, y, this.width).slice);
      },
      open: (x, y) => {
        const { slice } = below(this.scene, x, y, this.width);
        if (slice) this.zoomToSelection();
      },
      hover: (at) => this.hover(at),
    };
  }

  private buttonActions(): Parameters<typeof buildSkeleton>[1] {
    return {
      zoomIn: () => this.zoomBy(ZOOM_STEP),
      zoomOut: () => this.zoomBy(1 / ZOOM_STEP),
      reset: () => this.show(this.limits.from, this.limits.to),
      togglePath: () => this.togglePath(),
      nextHit: () => this.goHit(false),
      previousHit: () => this.goHit(true),
    };
  }

  private keyActions(): Parameters<typeof listenToKeys>[1] {
    return {
      ...this.buttonActions(),
      earlier: () => this.panBy(-PAN_STEP),
      later: () => this.panBy(PAN_STEP),
      showJudged: () => this.showJudged(),
      zoomToSelection: () => this.zoomToSelection(),
      focusSearch: () => this.parts.searchField.focus(),
      clear: () => this.clear(),
      nextSlice: () => this.goSlice(1),
      previousSlice: () => this.goSlice(-1),
      nextSameName: () => this.goSameName(1),
      previousSameName: () => this.goSameName(-1),
      rowBelow: () => this.goRow(1),
      rowAbove: () => this.goRow(-1),
    };
  }

  private detailActions(): DetailActions {
    return {
      zoom: () => this.zoomToSelection(),
      previous: () => this.goSameName(-1),
      next: () => this.goSameName(1),
      jump: (to) => this.select(to.track, to.slice),
      clear: () => this.choose(null),
    };
  }
}
