// What the browser tests call on a page of their own.

import { linkTimelines, stepOffset } from "../src/timeline/link";
import { mountTimeline } from "../src/timeline/view";
import { synthetic } from "./synthetic";

Object.assign(window, { mountTimeline, synthetic, linkTimelines, stepOffset });
