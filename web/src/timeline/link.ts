// Two timelines that move together, aligned by their first steps.

import type { Timeline } from "../data";
import type { TimelineView } from "./view";

/** How much later the second recording reaches its first step of the judged part. */
export function stepOffset(one: Timeline, other: Timeline): number {
  return (other.steps[0] ?? other.judged?.[0] ?? 0) - (one.steps[0] ?? one.judged?.[0] ?? 0);
}

/** Lets each view follow the other, so that the same moment of a step stands at the same place in both. */
export function linkTimelines(one: TimelineView, other: TimelineView, offsetNs: number): void {
  const limits = {
    from: Math.min(one.limits.from, other.limits.from - offsetNs),
    to: Math.max(one.limits.to, other.limits.to - offsetNs),
  };
  one.setLimits(limits.from, limits.to);
  other.setLimits(limits.from + offsetNs, limits.to + offsetNs);
  one.onRange((from, to) => other.setRange(from + offsetNs, to + offsetNs));
  other.onRange((from, to) => one.setRange(from - offsetNs, to - offsetNs));
  one.show(limits.from, limits.to);
}
