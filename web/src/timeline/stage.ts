// What is shown: the scene, its layout and its size. It draws itself at the next frame after any change.

import { paletteOf, readTheme } from "./colours";
import { UNCONNECTED } from "./flows";
import { formatNs } from "./format";
import { layOut, type Layout } from "./layout";
import { looksOf } from "./looks";
import { Minimap } from "./minimap";
import { Painter } from "./painter";
import type { Prepared, Selected } from "./prepared";
import { lengthOf, within, type Range } from "./scale";
import { boxOf, placedOf, type Scene } from "./scene";
import type { Skeleton } from "./skeleton";
import { placeTitles } from "./titles";

const NARROW_PX = 640; // below, titles stand above their rows
const MOST_OPEN_LANES = 20; // rows with more are folded at first
const MOST_PRINTED_PX = 3000;
const SCROLL_MARGIN_PX = 20;

export class Stage {
  readonly scene: Scene;
  limits: Range;
  width = 1; // of the canvas
  private readonly painter: Painter;
  private readonly minimap: Minimap;
  private readonly foldedGroups = new Set<string>();
  private readonly foldedRows = new Set<number>();
  private readonly resizes = new ResizeObserver(() => this.fitAgain());
  private fitted = ""; // the size for which everything was laid out
  private frame = 0;

  constructor(
    private readonly parts: Skeleton,
    private readonly prepared: Prepared,
    private readonly tellRange: (range: Range) => void,
  ) {
    for (const row of prepared.rows) if (row.lanes.length > MOST_OPEN_LANES) this.foldedRows.add(row.index);
    this.limits = { from: 0, to: Math.max(prepared.timeline.lengthNs, 1) };
    const theme = readTheme(parts.root);
    this.scene = {
      prepared,
      layout: this.laidOut(),
      range: this.limits,
      scrollTop: 0,
      theme,
      palette: paletteOf(prepared.timeline, looksOf(prepared), theme),
      emphasis: "all",
      selected: null,
      hovered: null,
      connected: UNCONNECTED,
      measured: null,
      cursor: null,
    };
    this.painter = new Painter(parts.canvas, prepared);
    this.minimap = new Minimap(parts.minimap, prepared, {
      limits: () => this.limits,
      range: () => this.scene.range,
      show: (range) => this.moveTo(range),
    });
    this.fit();
    this.resizes.observe(parts.root);
    this.resizes.observe(parts.scroller);
  }

  /** Shows the range, and tells those who listen. */
  moveTo(range: Range): void {
    this.follow(range);
    this.tellRange(this.scene.range);
  }

  /** Shows the range. */
  follow(range: Range): void {
    this.scene.range = within(range, this.limits);
    this.redraw();
  }

  setLimits(limits: Range): void {
    this.limits = limits;
    this.fit();
    this.follow(this.scene.range);
  }

  redraw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow(): void {
    this.frame = 0;
    this.scene.scrollTop = this.parts.scroller.scrollTop;
    this.painter.draw(this.scene);
    this.minimap.draw(this.scene.theme);
    this.parts.extent.textContent = `${formatNs(lengthOf(this.scene.range))} in view`;
  }

  /** Takes the page's colours anew. */
  recolour(): void {
    this.scene.theme = readTheme(this.parts.root);
    this.scene.palette = paletteOf(this.prepared.timeline, looksOf(this.prepared), this.scene.theme);
    this.fit();
  }

  markHits(): void {
    this.minimap.mark();
    this.redraw();
  }

  /** Unfolds the slice's group and scrolls to its row. */
  scrollTo(selected: Selected): void {
    const { scroller } = this.parts;
    const { group } = this.prepared.rows[selected.track]!.track;
    if (this.foldedGroups.delete(group)) this.fit();
    this.scene.scrollTop = scroller.scrollTop;
    const box = boxOf(this.scene, selected, this.width);
    if (!box || placedOf(this.scene.layout, selected.track)?.isPinned) return;
    const above = this.scene.layout.head + SCROLL_MARGIN_PX - box.top;
    const below = box.bottom + SCROLL_MARGIN_PX - scroller.clientHeight;
    if (above > 0) scroller.scrollTop -= above;
    else if (below > 0) scroller.scrollTop += below;
  }

  destroy(): void {
    this.resizes.disconnect();
    cancelAnimationFrame(this.frame);
  }

  private laidOut(): Layout {
    return layOut(this.prepared.rows, { groups: this.foldedGroups, rows: this.foldedRows }, this.parts.root.clientWidth < NARROW_PX);
  }

  /** What everything depends on: a panel that grows below the rows is no reason to lay them out. */
  private get size(): string {
    return [this.parts.root.clientWidth, this.parts.scroller.clientHeight, window.devicePixelRatio].join(" ");
  }

  private fitAgain(): void {
    if (this.size !== this.fitted) this.fit();
  }

  /** Lays everything out for the size that it has. */
  private fit(): void {
    const { root, scroller, space, canvas, minimap } = this.parts;
    root.classList.toggle("narrow", root.clientWidth < NARROW_PX);
    const layout = (this.scene.layout = this.laidOut());
    space.style.height = `${layout.head + layout.height}px`;
    this.placeTitles(layout);
    const ratio = window.devicePixelRatio || 1;
    const height = Math.min(scroller.clientHeight, layout.head + layout.height, MOST_PRINTED_PX);
    canvas.style.height = `${height}px`;
    this.width = Math.max(1, canvas.clientWidth);
    this.painter.resize(this.width, height, ratio);
    this.minimap.prepare(this.scene.theme, Math.max(1, minimap.clientWidth), minimap.clientHeight, ratio);
    this.fitted = this.size;
    this.redraw();
  }

  private placeTitles(layout: Layout): void {
    const fold = <Key>(folded: Set<Key>, key: Key): void => {
      if (!folded.delete(key)) folded.add(key);
      this.fit();
    };
    placeTitles(
      layout,
      { pinned: this.parts.pinnedTitles, rows: this.parts.titles },
      { toggleGroup: (group) => fold(this.foldedGroups, group), toggleRow: (row) => fold(this.foldedRows, row) },
    );
  }
}
