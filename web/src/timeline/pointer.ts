// Mouse and touch upon the canvas: drag to move, pinch and Ctrl + wheel to zoom, drag on the ruler to measure, click to select.

const CLICK_PX = 4; // a press that moves no further is a click
const WHEEL_STEP = 0.0016; // of the zoom, per pixel of wheel

export interface PointerTarget {
  isRuler: (y: number) => boolean;
  grab: () => void; // a drag begins
  move: (byPx: number) => void;
  zoom: (factor: number, x: number) => void;
  measure: (fromX: number, toX: number, isDone: boolean) => void;
  click: (x: number, y: number) => void;
  open: (x: number, y: number) => void; // double click
  hover: (at: { x: number; y: number } | null) => void;
}

interface Press {
  startX: number;
  startY: number;
  x: number;
  isMeasuring: boolean;
  hasMoved: boolean;
}

export class Pointer {
  private readonly pressed = new Map<number, Press>();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly target: PointerTarget,
    signal: AbortSignal,
  ) {
    const on = <Name extends keyof HTMLElementEventMap>(name: Name, act: (event: HTMLElementEventMap[Name]) => void): void =>
      canvas.addEventListener(name, act, { signal });
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.movePointer(event));
    on("pointerup", (event) => this.release(event));
    on("pointercancel", (event) => this.pressed.delete(event.pointerId));
    on("pointerleave", () => target.hover(null));
    on("dblclick", (event) => target.open(event.offsetX, event.offsetY));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false, signal });
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const { offsetX: x, offsetY: y } = event;
    const isMeasuring = event.pointerType !== "touch" && (this.target.isRuler(y) || event.shiftKey);
    this.pressed.set(event.pointerId, { startX: x, startY: y, x, isMeasuring, hasMoved: false });
    this.target.grab();
  }

  private movePointer(event: PointerEvent): void {
    const press = this.pressed.get(event.pointerId);
    if (!press) {
      if (event.pointerType !== "touch") this.target.hover({ x: event.offsetX, y: event.offsetY });
      return;
    }
    const x = event.offsetX;
    if (!press.hasMoved && Math.hypot(x - press.startX, event.offsetY - press.startY) < CLICK_PX) return;
    if (!press.hasMoved) this.canvas.setPointerCapture(event.pointerId);
    press.hasMoved = true;
    const other = [...this.pressed.values()].find((each) => each !== press);
    if (other) this.pinch(press, other, x);
    else if (press.isMeasuring) this.target.measure(press.startX, x, false);
    else this.target.move(x - press.x);
    press.x = x;
    this.target.hover(null);
  }

  private pinch(press: Press, other: Press, x: number): void {
    const before = Math.max(Math.abs(press.x - other.x), 8);
    const after = Math.max(Math.abs(x - other.x), 8);
    this.target.zoom(before / after, (x + other.x) / 2);
  }

  private release(event: PointerEvent): void {
    const press = this.pressed.get(event.pointerId);
    this.pressed.delete(event.pointerId);
    if (!press) return;
    if (press.isMeasuring && press.hasMoved) this.target.measure(press.startX, event.offsetX, true);
    else if (!press.hasMoved) this.target.click(press.startX, press.startY);
  }

  /** Ctrl zooms, Shift and sideways move; a plain wheel scrolls the page as everywhere else. */
  private wheel(event: WheelEvent): void {
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.target.zoom(Math.exp(event.deltaY * pixels * WHEEL_STEP), event.offsetX);
      return;
    }
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    this.target.grab();
    this.target.move(-sideways * pixels);
  }
}
