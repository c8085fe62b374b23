// The report: everything that is text stands in the page; this adds what moves.
import { copyButtons } from "./copy";
import { readPayload } from "./data";
import { explainNumbers } from "./explain";
import { markPlace } from "./contents";
import { flameGraph } from "./figures/flame";
import { liveFigures } from "./figures/tip";
import { liveTables } from "./tables";
import { showSideTimelines } from "./side_timelines";
import { themeButton } from "./theme";
import { mountTimeline } from "./timeline/view";

themeButton();
copyButtons();
liveTables();
explainNumbers();
markPlace();
liveFigures();
void showData();
void showSideTimelines();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));

/** Puts the timeline and the flame graph into their places. What they hold is large, and read once the page can be seen. */
async function showData(): Promise<void> {
  const payload = document.getElementById("payload")?.textContent;
  if (!payload) return;
  await new Promise((shown) => requestAnimationFrame(shown));
  const { document: answers, timeline } = await readPayload(payload);
  flameGraph(answers);
  const place = document.getElementById("timeline");
  place?.replaceChildren();
  if (place && timeline) mountTimeline(place, timeline, { label: "Timeline of the recording" });
}
