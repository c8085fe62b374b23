// Which key does what.

export interface KeyActions {
  zoomIn: () => void;
  zoomOut: () => void;
  earlier: () => void;
  later: () => void;
  reset: () => void;
  showJudged: () => void;
  zoomToSelection: () => void;
  focusSearch: () => void;
  clear: () => void;
  nextHit: () => void;
  previousHit: () => void;
  nextSlice: () => void;
  previousSlice: () => void;
  nextSameName: () => void;
  previousSameName: () => void;
  rowBelow: () => void;
  rowAbove: () => void;
  togglePath: () => void;
}

const KEYS: Record<string, keyof KeyActions> = {
  w: "zoomIn",
  "+": "zoomIn",
  "=": "zoomIn",
  s: "zoomOut",
  "-": "zoomOut",
  a: "earlier",
  arrowleft: "earlier",
  d: "later",
  arrowright: "later",
  "0": "reset",
  home: "reset",
  g: "showJudged",
  f: "zoomToSelection",
  "/": "focusSearch",
  escape: "clear",
  enter: "nextHit",
  n: "nextHit",
  ".": "nextSlice",
  ",": "previousSlice",
  "]": "nextSameName",
  "[": "previousSameName",
  j: "rowBelow",
  k: "rowAbove",
  p: "togglePath",
};

/** What the key asks for, or null where it is not ours. */
export function actionOf(event: { key: string; shiftKey: boolean; ctrlKey: boolean; metaKey: boolean; altKey: boolean }): keyof KeyActions | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const action = KEYS[event.key.toLowerCase()] ?? null;
  return action === "nextHit" && event.shiftKey ? "previousHit" : action;
}

/** Listens while the timeline has the focus, or the pointer is over it and nothing else has the focus. */
export function listenToKeys(root: HTMLElement, actions: KeyActions, signal: AbortSignal): void {
  const act = (event: KeyboardEvent): void => {
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    const isOurs = root.contains(target) || (target === document.body && root.matches(":hover"));
    const isTaken = target.matches("input, textarea, select") || (event.key === "Enter" && target.matches("button, summary, a"));
    const action = actionOf(event);
    if (!isOurs || isTaken || !action) return;
    event.preventDefault();
    actions[action]();
  };
  document.addEventListener("keydown", act, { signal });
}
