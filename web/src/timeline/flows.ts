// Which slice launched which.

import type { Flows } from "../data";
import type { Selected } from "./prepared";

const MOST_SHOWN = 200;

export interface Connected {
  launchedBy: Selected[];
  launched: Selected[];
}

export const UNCONNECTED: Connected = { launchedBy: [], launched: [] };

/** What launched the slice, and what it launched. */
export function connected(flows: Flows, { track, slice }: Selected): Connected {
  const found: Connected = { launchedBy: [], launched: [] };
  const { fromTrack, fromSlice, toTrack, toSlice } = flows;
  for (let flow = 0; flow < fromSlice.length; flow += 1) {
    if (toSlice[flow] === slice && toTrack[flow] === track && found.launchedBy.length < MOST_SHOWN) {
      found.launchedBy.push({ track: fromTrack[flow]!, slice: fromSlice[flow]! });
    }
    if (fromSlice[flow] === slice && fromTrack[flow] === track && found.launched.length < MOST_SHOWN) {
      found.launched.push({ track: toTrack[flow]!, slice: toSlice[flow]! });
    }
  }
  return found;
}
