// What part of the recording is in view, and where it lies on the screen.

/** A part of the recording, in nanoseconds since its beginning. */
export interface Range {
  from: number;
  to: number;
}

export const SHORTEST_NS = 20; // no view is shorter: clocks of GPUs tick every 10 ns

export function lengthOf(range: Range): number {
  return range.to - range.from;
}

/** The range made shorter (factor below 1) or longer, with `at` staying where it is on the screen. */
export function zoomed(range: Range, factor: number, at: number): Range {
  return { from: at - (at - range.from) * factor, to: at + (range.to - at) * factor };
}

/** The range moved later by a share of its own length. */
export function panned(range: Range, share: number): Range {
  const by = lengthOf(range) * share;
  return { from: range.from + by, to: range.to + by };
}

/** The range brought inside the limits, keeping its length where it can. */
export function within(range: Range, limits: Range): Range {
  const whole = Math.max(lengthOf(limits), SHORTEST_NS);
  const length = Math.min(Math.max(lengthOf(range), SHORTEST_NS), whole);
  const middle = (range.from + range.to) / 2;
  const from = Math.min(Math.max(middle - length / 2, limits.from), limits.from + whole - length);
  return { from, to: from + length };
}

/** The range with room on both sides, so that what lies in it does not touch the edges. */
export function withMargin(range: Range, share: number): Range {
  const room = Math.max(lengthOf(range) * share, SHORTEST_NS / 2);
  return { from: range.from - room, to: range.to + room };
}

export function xOf(ns: number, range: Range, width: number): number {
  return ((ns - range.from) / (range.to - range.from)) * width;
}

export function nsAt(x: number, range: Range, width: number): number {
  return range.from + (x / width) * (range.to - range.from);
}

/** The distance of ticks: 1, 2 or 5 times a power of ten nanoseconds, and no closer on the screen than `leastPx`. */
export function tickStep(range: Range, width: number, leastPx: number): number {
  const least = Math.max((lengthOf(range) * leastPx) / Math.max(width, 1), 1);
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((each) => each * power >= least - 1e-9) ?? 10) * power;
}
