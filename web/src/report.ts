// The report: everything that is text stands in the page; this adds what moves.
import { copyButtons } from "./copy";
import { readPayload } from "./data";
import { explainNumbers } from "./explain";
import { markPlace } from "./contents";
import { liveTables } from "./tables";
import { showSideTimelines } from "./side_timelines";
import { themeButton } from "./theme";
import { mountTimeline } from "./timeline/view";

themeButton();
copyButtons();
liveTables();
explainNumbers();
markPlace();
void showTimeline();
void showSideTimelines();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));

/** Puts the timeline into its place. What it holds is large, and read once the page can be seen. */
async function showTimeline(): Promise<void> {
  const place = document.getElementById("timeline");
  if (!place) return;
  await new Promise((shown) => requestAnimationFrame(shown));
  const { timeline } = await readPayload(document.getElementById("payload")?.textContent ?? "");
  place.replaceChildren();
  if (timeline) mountTimeline(place, timeline, { label: "Timeline of the recording" });
}
