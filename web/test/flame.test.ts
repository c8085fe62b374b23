import assert from "node:assert/strict";
import { test } from "node:test";
import { laidOut, matching, neighbour, zoomed, type FlameNode } from "../src/figures/flame_layout";

const node = (name: string, parent: number | null, gpu_ns: number, host_ns = 0): FlameNode => ({ name, kind: "operator", parent, calls: 1, gpu_ns, host_ns });

// model 75 (linear 50 (gemm 50), norm 25), step 25
const NODES = [node("model", null, 75, 10), node("step", null, 25, 30), node("linear", 0, 50, 5), node("norm", 0, 25, 5), node("gemm", 2, 50)];
const CELLS = laidOut(NODES, "gpu_ns");

test("cells are as wide as their time and lie below the one around them", () => {
  const placed = CELLS.map(({ depth, start, end }) => [depth, start, end]);
  assert.deepEqual(placed, [
    [0, 0, 0.75],
    [0, 0.75, 1],
    [1, 0, 0.5],
    [1, 0.5, 0.75],
    [2, 0, 0.5],
  ]);
});

test("another measure is another width", () => {
  const [model, step] = laidOut(NODES, "host_ns");
  assert.deepEqual([model!.end, step!.start, step!.end], [0.25, 0.25, 1]);
});

test("no child leaves the node around it, and siblings do not overlap", () => {
  for (const { place, start, end } of CELLS) {
    const around = NODES[place]!.parent;
    if (around !== null) assert.ok(CELLS[around]!.start <= start && end <= CELLS[around]!.end + 1e-9);
  }
});

test("the cell in focus fills the width, with what is around it; its siblings are gone", () => {
  const seen = zoomed(CELLS, CELLS[2]!);
  assert.deepEqual(
    seen.map(({ place, start, end }) => [NODES[place]!.name, start, end]),
    [
      ["model", 0, 1],
      ["linear", 0, 1],
      ["gemm", 0, 1],
    ],
  );
  assert.equal(zoomed(CELLS, null).length, NODES.length);
});

test("a search counts every instant once", () => {
  const found = matching(NODES, "gpu_ns", " M ");
  assert.deepEqual([...found.matches], [0, 3, 4]); // model, norm in it, gemm in it
  assert.equal(found.share, 0.75);
  assert.deepEqual(matching(NODES, "gpu_ns", ""), { matches: new Set(), share: 0 });
});

test("arrow keys go out, in and to neighbours, and stay where there is nothing", () => {
  assert.equal(neighbour(NODES, CELLS, 2, "out"), 0);
  assert.equal(neighbour(NODES, CELLS, 0, "in"), 2);
  assert.equal(neighbour(NODES, CELLS, 2, "after"), 3);
  assert.equal(neighbour(NODES, CELLS, 3, "before"), 2);
  assert.equal(neighbour(NODES, CELLS, 3, "after"), 3);
  assert.equal(neighbour(NODES, CELLS, 1, "out"), 1);
  assert.equal(neighbour(NODES, CELLS, 4, "in"), 4);
});

test("nodes without any time do no harm", () => {
  assert.deepEqual(laidOut([node("a", null, 0)], "gpu_ns"), [{ place: 0, depth: 0, start: 0, end: 0 }]);
  assert.equal(matching([node("a", null, 0)], "gpu_ns", "a").share, 0);
});
