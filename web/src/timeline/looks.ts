// The colours of what is not a kernel: causes of gaps and phases look as in the report's figures, steps alternate.

import { mix, type Look, type Theme } from "./colours";
import type { Prepared } from "./prepared";

const FAINT = 0.45; // as in figure.css

// As in render/figures: the same cause has the same colour in the bar and in the timeline.
const LOOKS: Readonly<Record<string, Look>> = {
  before: idle,
  pause: idle,
  "start-up": series(2),
  steady: series(1),
  work: series(1),
  end: series(8),
  "host sync": series(6),
  "other host calls": series(2),
  copies: series(4),
  "framework and Python": series(7),
  "data loader": series(2, FAINT),
  "host busy elsewhere": series(7, FAINT),
  "launch latency": series(5),
  "event of another stream": series(3),
  collective: series(3, FAINT),
  "queue gaps": series(8),
  "work that was not recorded": series(8, FAINT),
  "nothing recorded": quiet,
};

/** How the names of gaps, phases and steps look; all others have a colour of their own name. */
export function looksOf({ timeline, steps }: Prepared): Map<number, Look> {
  const looks = new Map<number, Look>();
  for (const { kind, slices } of timeline.tracks) {
    if (kind !== "gaps" && kind !== "phases") continue;
    for (const name of new Set(slices.name)) {
      const look = LOOKS[timeline.names[name]!];
      if (look) looks.set(name, look);
    }
  }
  steps.forEach((name, step) => looks.set(name, step % 2 === 0 ? idle : line));
  return looks;
}

function series(number: number, faint = 0): Look {
  return (theme: Theme) => mix(theme.series[number - 1]!, theme.ground, faint);
}

function idle(theme: Theme): ReturnType<Look> {
  return theme.idle;
}

function quiet(theme: Theme): ReturnType<Look> {
  return mix(theme.idle, theme.inkSoft, 0.3); // a short gap in the colour of idle time would not be seen
}

function line(theme: Theme): ReturnType<Look> {
  return mix(theme.idle, theme.inkSoft, 0.16);
}
