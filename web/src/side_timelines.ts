// The timelines of both sides of a comparison, which move together.
import { readPayload } from "./data";
import { linkTimelines, stepOffset } from "./timeline/link";
import { mountTimeline } from "./timeline/view";

const STEPS_SHOWN = 3;

/** Puts both timelines into their places, aligned by their first steps. */
export async function showSideTimelines(): Promise<void> {
  const places = ["base", "new"].map((side) => document.getElementById(`timeline-${side}`));
  const [before, after] = places;
  if (!before || !after) return;
  await new Promise((shown) => requestAnimationFrame(shown));
  const [base, changed] = await Promise.all(["base", "new"].map(timelineOf));
  if (!base || !changed) return;
  const views = [mountTimeline(before, base, { label: "Before" }), mountTimeline(after, changed, { label: "After" })] as const;
  linkTimelines(views[0], views[1], stepOffset(base, changed));
  const [from, to] = [base.steps[0], base.steps[Math.min(STEPS_SHOWN, base.steps.length - 1)]];
  if (from !== undefined && to !== undefined && to > from) views[0].show(from, to);
}

async function timelineOf(side: string) {
  const payload = document.getElementById(`payload-${side}`)?.textContent ?? "";
  return (await readPayload(payload)).timeline;
}
