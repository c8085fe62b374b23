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
liveFigures();
markPlace();
void showData();
void showSideTimelines();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));

/** Draws what is made of the page's data: the timeline, the flame graph. It is read once the page can be seen. */
async function showData(): Promise<void> {
  const payload = document.getElementById("payload")?.textContent;
  if (!payload) return;
  await new Promise((shown) => requestAnimationFrame(shown));
  const data = await readPayload(payload);
  flameGraph(data.document);
  const place = document.getElementById("timeline");
  if (!place || !data.timeline) return;
  place.replaceChildren();
  mountTimeline(place, data.timeline, { label: "Timeline of the recording" });
}
