// Draws a frame: only the rows in sight, and in each only as much as there are columns of pixels.

import { Columns, ON_PATH } from "./columns";
import { css, pixelOf } from "./colours";
import { drawCounter, drawScale } from "./counter";
import { LABEL_FONT, Labels, LEAST_ROOM_PX } from "./labels";
import { busyRows, RULER_PX, type Placed } from "./layout";
import { drawOverlay } from "./overlay";
import type { Prepared, Row } from "./prepared";
import { drawGrid, drawMeasured, drawMoment, drawRuler } from "./ruler";
import { xOf } from "./scale";
import type { Scene } from "./scene";
import { isDimmed, paintBusy, paintLane, paintMarks, Strips, type Emphasis } from "./strips";

const PATH_PX = 3;
const LEAST_TEXT_PX = 12; // lower lanes have no names

/** A line of the strips, and where it goes. */
interface Stripe {
  line: number;
  y: number;
  height: number;
}

interface Caption {
  name: number;
  left: number;
  right: number;
  y: number;
  isDimmed: boolean;
}

/** Lists that keep their entries from frame to frame, so that drawing makes no garbage. */
class Pool<Entry> {
  private readonly entries: Entry[] = [];
  size = 0;

  constructor(private readonly make: () => Entry) {}

  next(): Entry {
    if (this.size === this.entries.length) this.entries.push(this.make());
    this.size += 1;
    return this.entries[this.size - 1]!;
  }

  get(place: number): Entry {
    return this.entries[place]!;
  }
}

export class Painter {
  private readonly context: CanvasRenderingContext2D;
  private readonly labels: Labels;
  private readonly stripes = new Pool<Stripe>(() => ({ line: 0, y: 0, height: 0 }));
  private readonly captions = new Pool<Caption>(() => ({ name: 0, left: 0, right: 0, y: 0, isDimmed: false }));
  private columns = new Columns(1, 1);
  private strips = new Strips(1);
  private busy = new Float32Array(1);
  private width = 1;
  private height = 1;
  private ratio = 1;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    prepared: Prepared,
  ) {
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.labels = new Labels(prepared.labels);
  }

  resize(width: number, height: number, ratio: number): void {
    const [pixelsWide, pixelsHigh] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (this.columns.width !== pixelsWide) {
      this.columns = new Columns(pixelsWide, LEAST_ROOM_PX * ratio);
      this.strips = new Strips(pixelsWide);
      this.busy = new Float32Array(pixelsWide);
    }
    if (this.canvas.width !== pixelsWide || this.canvas.height !== pixelsHigh) {
      this.canvas.width = pixelsWide;
      this.canvas.height = pixelsHigh;
    }
    [this.width, this.height, this.ratio] = [width, height, ratio];
  }

  draw(scene: Scene): void {
    const { context, width, height } = this;
    const { layout } = scene;
    const inSight = layout.rows.filter((each) => each.y + each.height > scene.scrollTop && each.y < scene.scrollTop + height - layout.head);
    const shift = layout.head - scene.scrollTop;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.font = LABEL_FONT;
    context.imageSmoothingEnabled = false;
    context.fillStyle = css(scene.theme.ground);
    context.fillRect(0, 0, width, height);
    this.strips.used = this.stripes.size = this.captions.size = 0;
    for (const placed of inSight) this.paint(scene, placed, shift);
    const [stripes, captions] = [this.stripes.size, this.captions.size];
    for (const placed of layout.pinned) this.paint(scene, placed, 0);
    this.strips.finish();
    this.drawHeadings(scene, inSight, shift);
    drawGrid(context, scene, width, height);
    this.drawRows(scene, 0, stripes, 0, captions);
    for (const placed of inSight) this.drawCounter(scene, placed, shift);
    drawOverlay(context, scene, width, height);
    this.drawHead(scene, stripes, captions);
    drawMoment(context, scene, width);
    drawMeasured(context, scene, width, height);
  }

  /** Ruler and phases, above what scrolls. */
  private drawHead(scene: Scene, stripes: number, captions: number): void {
    const { context, width } = this;
    context.fillStyle = css(scene.theme.ground);
    context.fillRect(0, RULER_PX, width, scene.layout.head - RULER_PX);
    drawRuler(context, scene, width);
    this.drawRows(scene, stripes, this.stripes.size, captions, this.captions.size);
    context.fillStyle = css(scene.theme.line);
    context.fillRect(0, scene.layout.head - 1, width, 1);
  }

  private paint(scene: Scene, placed: Placed, shift: number): void {
    if (!placed.row) {
      if (!placed.isOpen) this.paintGroup(scene, placed, shift);
    } else if (!placed.row.line) {
      for (let lane = 0; lane < Math.min(placed.lanes, placed.row.lanes.length); lane += 1) this.paintLane(scene, placed, lane, shift);
    }
  }

  private paintLane(scene: Scene, placed: Placed, number: number, shift: number): void {
    const row = placed.row!;
    const lane = row.lanes[number]!;
    const top = placed.contentY + number * placed.lanePx + shift;
    if (top + placed.lanePx < 0 || top > this.height) return;
    this.columns.fill(lane, scene.range);
    const stripe = this.stripe(top, placed.lanePx < LEAST_TEXT_PX ? placed.lanePx : placed.lanePx - 1);
    const names = row.track.slices.name;
    paintLane({ columns: this.columns, lane, names, palette: scene.palette, emphasis: emphasisOf(scene, row), line: this.strips.line(stripe.line) });
    if (placed.lanePx < LEAST_TEXT_PX) return;
    if (lane.pathBefore && row.track.kind !== "path") this.underline(scene, top + placed.lanePx - 1 - PATH_PX);
    this.caption(scene, row, number, top + placed.lanePx / 2);
  }

  /** A line below what the critical path runs through. */
  private underline(scene: Scene, y: number): void {
    const stripe = this.stripe(y, PATH_PX);
    const hasAny = paintMarks(this.columns, ON_PATH, pixelOf(scene.theme.path), this.strips.line(stripe.line));
    if (!hasAny) stripe.height = 0;
  }

  private caption(scene: Scene, row: Row, number: number, y: number): void {
    const lane = row.lanes[number]!;
    for (let each = 0; each < this.columns.wideCount; each += 1) {
      const place = this.columns.wide[each]!;
      const caption = this.captions.next();
      caption.name = row.track.slices.name[lane.slice[place]!]!;
      caption.left = Math.max(0, xOf(lane.start[place]!, scene.range, this.width));
      caption.right = Math.min(this.width, xOf(lane.end[place]!, scene.range, this.width));
      caption.y = y;
      caption.isDimmed = isDimmed(this.columns.marks[Math.ceil(caption.left * this.ratio)]!, emphasisOf(scene, row));
    }
  }

  private paintGroup(scene: Scene, placed: Placed, shift: number): void {
    this.busy.fill(0);
    for (const row of busyRows(placed.members)) {
      const lane = row.lanes[0];
      if (!lane) continue;
      this.columns.fill(lane, scene.range);
      for (let x = 0; x < this.busy.length; x += 1) this.busy[x] = Math.max(this.busy[x]!, this.columns.covered[x]!);
    }
    const stripe = this.stripe(placed.contentY + shift, placed.lanePx);
    paintBusy(this.busy, pixelOf(scene.theme.inkSoft), this.strips.line(stripe.line));
  }

  private stripe(y: number, height: number): Stripe {
    const stripe = this.stripes.next();
    stripe.line = this.strips.next();
    stripe.y = y;
    stripe.height = height;
    return stripe;
  }

  private drawHeadings(scene: Scene, inSight: readonly Placed[], shift: number): void {
    this.context.fillStyle = css(scene.theme.surface);
    for (const placed of inSight) {
      if (!placed.row) this.context.fillRect(0, placed.y + shift, this.width, placed.height - 2);
    }
  }

  private drawRows(scene: Scene, stripe: number, stripes: number, caption: number, captions: number): void {
    for (let each = stripe; each < stripes; each += 1) {
      const { line, y, height } = this.stripes.get(each);
      if (height > 0) this.strips.draw(this.context, { line, y, height, width: this.width });
    }
    this.context.textBaseline = "middle";
    const soft = css(scene.theme.inkSoft);
    let ink = "";
    for (let each = caption; each < captions; each += 1) {
      const { name, left, right, y, isDimmed: isSoft } = this.captions.get(each);
      const wanted = isSoft ? soft : scene.palette.inks[name]!;
      if (wanted !== ink) this.context.fillStyle = ink = wanted;
      this.labels.draw(this.context, name, left, right, y);
    }
  }

  private drawCounter(scene: Scene, placed: Placed, shift: number): void {
    const row = placed.row;
    if (!row?.line) return;
    const top = placed.contentY + shift + 2;
    const place = { range: scene.range, width: this.width, top, bottom: top + placed.lanePx - 4 };
    const { theme } = scene;
    const colour = theme.series[row.line.series % theme.series.length]!;
    drawCounter(this.context, row.line, place, colour);
    drawScale(this.context, row.line, place, { ink: theme.inkSoft, ground: theme.ground });
  }
}

/** Phases stay as they are, and gaps beside the critical path, which cannot run through them. */
function emphasisOf({ emphasis }: Scene, { track }: Row): Emphasis {
  return track.kind === "phases" || (track.kind === "gaps" && emphasis === "path") ? "all" : emphasis;
}
