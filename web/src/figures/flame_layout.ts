// Where the cells of a flame graph lie: pure, in shares of the whole.

/** As `--json` has it: all calls of one name with the same names around them. */
export interface FlameNode {
  name: string;
  kind: "module" | "operator" | "kernel" | "copy";
  parent: number | null; // an earlier place in the list
  calls: number;
  gpu_ns: number;
  host_ns: number;
}

export type Measure = "gpu_ns" | "host_ns";

/** One cell: from `start` to `end` of the whole, which are 0 to 1. */
export interface Cell {
  place: number; // of its node
  depth: number;
  start: number;
  end: number;
}

/** All cells in the order of their nodes: children side by side below the node around them. */
export function laidOut(nodes: FlameNode[], measure: Measure): Cell[] {
  const whole = total(nodes, measure) || 1;
  const filled = new Map<number | null, number>();
  const cells: Cell[] = [];
  nodes.forEach((node, place) => {
    const around = node.parent === null ? null : cells[node.parent]!;
    const start = filled.get(node.parent) ?? around?.start ?? 0;
    const end = start + node[measure] / whole;
    filled.set(node.parent, end);
    cells.push({ place, depth: around ? around.depth + 1 : 0, start, end });
  });
  return cells;
}

/** The time of everything. */
export function total(nodes: FlameNode[], measure: Measure): number {
  return nodes.reduce((sum, node) => sum + (node.parent === null ? node[measure] : 0), 0);
}

/** The cells as seen when one of them fills the width: it, what is around it, and what is in it. */
export function zoomed(cells: Cell[], focus: Cell | null): Cell[] {
  const { start, end } = focus ?? { start: 0, end: 1 };
  const width = end - start || 1;
  const within = (edge: number): number => Math.min(Math.max((edge - start) / width, 0), 1);
  return cells
    .map((cell) => ({ ...cell, start: within(cell.start), end: within(cell.end) }))
    .filter((cell) => cell.end > cell.start);
}

/** The share of the whole in nodes of a name, each instant once: what is inside a match counts as part of it. */
export function matching(nodes: FlameNode[], measure: Measure, text: string): { matches: Set<number>; share: number } {
  const wanted = text.trim().toLowerCase();
  const matches = new Set<number>();
  const inMatch: boolean[] = [];
  let time = 0;
  nodes.forEach((node, place) => {
    const inside = node.parent !== null && inMatch[node.parent]!;
    const matched = wanted !== "" && node.name.toLowerCase().includes(wanted);
    if (matched) matches.add(place);
    if (matched && !inside) time += node[measure];
    inMatch.push(matched || inside);
  });
  return { matches, share: time / (total(nodes, measure) || 1) };
}

export type Way = "out" | "in" | "before" | "after";

/** The cell that an arrow key leads to, of those that are seen; the same where there is none. */
export function neighbour(nodes: FlameNode[], seen: Cell[], from: number, way: Way): number {
  if (way === "out") return nodes[from]?.parent ?? from;
  if (way === "in") return seen.find((cell) => nodes[cell.place]!.parent === from)?.place ?? from;
  const here = seen.find((cell) => cell.place === from);
  const row = seen.filter((cell) => cell.depth === here?.depth).sort((one, other) => one.start - other.start);
  const at = row.findIndex((cell) => cell.place === from);
  return row[way === "before" ? at - 1 : at + 1]?.place ?? from;
}
