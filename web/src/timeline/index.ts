// The door of the timeline: what a page needs.

export { linkTimelines, stepOffset } from "./link";
export { mountTimeline, type TimelineOptions, type TimelineView } from "./view";
