// Moves the view smoothly, or at once for those who ask for less motion.

import type { Range } from "./scale";

const GLIDE_MS = 160;

export class Glide {
  private target: Range | null = null;
  private frame = 0;

  constructor(
    private readonly read: () => Range,
    private readonly write: (range: Range) => void,
  ) {}

  /** Where the view will be when it rests. */
  get destination(): Range {
    return this.target ?? this.read();
  }

  to(target: Range): void {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.write(target);
      return;
    }
    this.target = target;
    const start = this.read();
    const began = performance.now();
    const advance = (now: number): void => {
      const done = Math.min(1, Math.max(0, (now - began) / GLIDE_MS));
      const eased = 1 - (1 - done) ** 3;
      this.write(done === 1 ? target : between(start, target, eased));
      if (done < 1) this.frame = requestAnimationFrame(advance);
      else this.target = null;
    };
    this.frame = requestAnimationFrame(advance);
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.target = null;
  }
}

function between(start: Range, end: Range, share: number): Range {
  return { from: start.from + (end.from - start.from) * share, to: start.to + (end.to - start.to) * share };
}
