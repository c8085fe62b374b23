// Where the largest of neighbouring values stands: a tree over their indices, so that a question about a million of them
// looks at a few dozen.

const FANOUT = 16;

export class Largest {
  private readonly levels: Uint32Array[] = [];

  constructor(private readonly values: Float64Array) {
    for (let size = values.length; size > FANOUT; size = Math.ceil(size / FANOUT)) {
      this.levels.push(this.levelAbove(this.levels.length, size));
    }
  }

  /** The index of the first largest value from index `from` up to but not including `to`, which must lie behind it. */
  between(from: number, to: number): number {
    let best = from;
    let left = from;
    let right = to;
    for (let level = 0; left < right; level += 1) {
      const isTop = level === this.levels.length;
      while (left < right && (isTop || left % FANOUT > 0)) {
        best = this.larger(best, this.node(level, left));
        left += 1;
      }
      while (left < right && right % FANOUT > 0) {
        right -= 1;
        best = this.larger(best, this.node(level, right));
      }
      left /= FANOUT;
      right /= FANOUT;
    }
    return best;
  }

  private node(level: number, place: number): number {
    return level === 0 ? place : this.levels[level - 1]![place]!;
  }

  private larger(one: number, other: number): number {
    const difference = this.values[other]! - this.values[one]!;
    return difference > 0 || (difference === 0 && other < one) ? other : one;
  }

  private levelAbove(below: number, size: number): Uint32Array {
    const level = new Uint32Array(Math.ceil(size / FANOUT));
    for (let place = 0; place < level.length; place += 1) {
      const end = Math.min((place + 1) * FANOUT, size);
      let best = this.node(below, place * FANOUT);
      for (let child = place * FANOUT + 1; child < end; child += 1) best = this.larger(best, this.node(below, child));
      level[place] = best;
    }
    return level;
  }
}
