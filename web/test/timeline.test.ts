import assert from "node:assert/strict";
import { test } from "node:test";
import { colourOf, contrast, hash, inkUpon, type Rgb, type Theme } from "../src/timeline/colours";
import { readingAt, scaleTop } from "../src/timeline/counter";
import { coveredBetween, factsOf, factsOfRange, fullName, stepAt } from "../src/timeline/facts";
import { connected } from "../src/timeline/flows";
import { actionOf } from "../src/timeline/keyboard";
import { groupsOf, layOut, rowAt, RULER_PX } from "../src/timeline/layout";
import { stepOffset } from "../src/timeline/link";
import { neighbour, onOtherRow, visibleFirst } from "../src/timeline/neighbours";
import { placeOf, prepare } from "../src/timeline/prepared";
import { nextHit, sameName, search } from "../src/timeline/search";
import { slicesOf, synthetic } from "./synthetic";

const NOTHING = { groups: new Set<string>(), rows: new Set<number>() };
const small = prepare(synthetic({ kernels: 200 }));
const rowOf = (kind: string): number => small.rows.findIndex((row) => row.track.kind === kind);

test("rows lie one below the other, and each is found at its height", () => {
  const { rows, pinned, head, height } = layOut(small.rows, NOTHING, false);
  assert.ok(pinned.every((each) => ["phases", "path"].includes(each.row!.track.kind)) && pinned.length > 0);
  assert.ok(head > RULER_PX);
  rows.forEach((each, place) => {
    assert.equal(rowAt(rows, each.y), each);
    assert.equal(rowAt(rows, each.y + each.height - 1), each);
    if (place > 0) assert.equal(each.y, rows[place - 1]!.y + rows[place - 1]!.height);
  });
  assert.equal(rowAt(rows, height + 1), null);
  assert.equal(rowAt(rows, -1), null);
});

test("a folded group keeps its heading alone, and the lanes of a folded row are low", () => {
  const open = layOut(small.rows, NOTHING, false);
  const folded = layOut(small.rows, { groups: new Set(["GPU 0"]), rows: new Set([rowOf("thread")]) }, false);
  assert.ok(folded.height < open.height);
  assert.deepEqual(folded.rows.filter((each) => each.group === "GPU 0").map((each) => each.row), [null]);
  const [high, low] = [open, folded].map((each) => each.rows.find(({ row }) => row?.index === rowOf("thread"))!);
  assert.equal(low!.lanes, high!.lanes);
  assert.ok(low!.lanePx < high!.lanePx / 3);
});

test("groups keep the order in which they appear", () => {
  assert.deepEqual([...groupsOf(small.rows).keys()], ["GPU 0", "Process 4711", "GPU 1", "Process 4712"]);
});

test("a search counts what looking at each slice counts", () => {
  const hits = search(small, "  SOFTmax ")!;
  let [slices, busyNs] = [0, 0];
  for (const { kind, slices: each } of small.timeline.tracks) {
    if (kind === "path") continue; // it repeats what other rows hold
    each.name.forEach((name, slice) => {
      if (!small.timeline.names[name]!.includes("SoftMax")) return;
      slices += 1;
      busyNs += each.busy[slice]!;
    });
  }
  assert.ok(slices > 0);
  assert.deepEqual([hits.slices, hits.events, hits.busyNs], [slices, slices, busyNs]);
  assert.equal(search(small, " "), null);
  assert.ok(small.rows.every((row) => row.lanes.every((lane) => lane.hitsBefore === null)));
});

test("going from hit to hit visits each once, forwards and backwards, and begins again", () => {
  const hits = search(small, "hipLaunchKernel")!;
  for (const isBackwards of [false, true]) {
    const visited = new Set<string>();
    let at = nextHit(small, hits, null, isBackwards);
    for (let each = 0; each < hits.slices; each += 1) {
      visited.add(`${at!.track} ${at!.slice}`);
      at = nextHit(small, hits, at, isBackwards);
    }
    assert.equal(visited.size, hits.slices);
    assert.deepEqual(at, nextHit(small, hits, null, isBackwards));
  }
  search(small, "");
});

test("the next of the same name is on the same row and has that name", () => {
  const track = rowOf("queue");
  const { name } = small.timeline.tracks[track]!.slices;
  const next = sameName(small, { track, slice: 20 }, 1)!;
  assert.equal(name[next.slice], name[20]);
  assert.deepEqual(sameName(small, next, -1), { track, slice: 20 });
  assert.equal(sameName(small, { track, slice: name.lastIndexOf(name[20]!) }, 1), null);
});

test("a kernel leads to its launch, and the launch to its kernel", () => {
  const kernel = { track: rowOf("queue"), slice: 12 };
  const [launch] = connected(small.timeline.flows, kernel).launchedBy;
  assert.equal(small.timeline.tracks[launch!.track]!.kind, "thread");
  assert.deepEqual(connected(small.timeline.flows, launch!).launched, [kernel]);
});

test("keys lead along the lane and to the rows beside", () => {
  const layout = layOut(small.rows, NOTHING, false);
  const first = visibleFirst(layout, { from: 0, to: small.timeline.lengthNs })!;
  assert.equal(small.timeline.tracks[first.track]!.kind, "phases");
  const kernel = { track: rowOf("queue"), slice: 12 };
  assert.deepEqual(neighbour(small, kernel, 1), { track: kernel.track, slice: 13 });
  assert.equal(neighbour(small, { track: kernel.track, slice: 0 }, -1), null);
  const beneath = onOtherRow(small, layout, kernel, 1)!;
  assert.equal(small.timeline.tracks[beneath.track]!.kind, "gaps");
});

test("a slice is found in its lane", () => {
  const row = small.rows[rowOf("thread")]!;
  for (const slice of [0, 1, 7, 30]) {
    const { lane, place } = placeOf(row, slice)!;
    assert.equal(row.lanes[lane]!.slice[place], slice);
    assert.equal(lane, row.track.slices.depth[slice]);
  }
  assert.equal(placeOf(row, 1e6), null);
});

test("everything known of a slice is told", () => {
  const facts = new Map(factsOf(small, { track: rowOf("queue"), slice: 12 }));
  for (const label of ["Duration", "Start", "Row", "Idle before", "Step", "Grid", "Shared memory", "Same name on this row"]) assert.ok(facts.has(label), label);
  assert.match(facts.get("Shared memory")!, /KiB$/);
  assert.equal(facts.get("Row"), "GPU 0 · queue 1, stream 0");
});

test("a chosen range tells how busy each queue is", () => {
  const facts = factsOfRange(small, { from: 0, to: small.timeline.lengthNs });
  assert.match(facts.find(([label]) => label === "GPU 0 · queue 1, stream 0")![1], /^busy 28\.5 ms, 86\.3 %$/);
});

test("slices that overlap count once in what a range is covered by", () => {
  const slices = slicesOf([[0, 10, 0], [5, 20, 0], [6, 8, 0], [30, 50, 0]]);
  assert.equal(coveredBetween(slices, 0, 100), 40);
  assert.equal(coveredBetween(slices, 7, 40), 23);
});

test("a name of 10,000 characters is cut and says how long it was", () => {
  const timeline = synthetic({ kernels: 20, names: [`<script>${"x".repeat(9992)}`] });
  const name = fullName(timeline, 0);
  assert.ok(name.length < 2100);
  assert.ok(name.endsWith("(10,000 characters)"));
});

test("a moment belongs to the last step that began before", () => {
  const steps = Float64Array.from([10, 20, 30]);
  assert.deepEqual([5, 10, 29, 99].map((ns) => stepAt(steps, ns)), [null, 0, 1, 2]);
});

test("recordings are aligned by their first steps", () => {
  const [one, other] = [synthetic({ kernels: 50 }), synthetic({ kernels: 50, seed: 2 })];
  assert.equal(stepOffset(one, other), other.steps[0]! - one.steps[0]!);
});

test("a counter says what it last read, on a scale with a round top", () => {
  const { line } = small.rows[rowOf("counter")]!;
  assert.equal(readingAt(line!, -1), null);
  assert.equal(readingAt(line!, line!.at[5]! + 1), line!.value[5]);
  for (const most of [0.3, 7, 99, 101, 742, 2100]) assert.ok(scaleTop(most, "W") >= most * 0.999 && scaleTop(most, "W") <= most * 1.7, String(most));
  assert.equal(scaleTop(90 * 2 ** 30, "B"), 100 * 2 ** 30);
});

test("keys with Ctrl, Alt or Meta belong to the browser", () => {
  const plain = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
  assert.equal(actionOf({ ...plain, key: "w" }), "zoomIn");
  assert.equal(actionOf({ ...plain, key: "N", shiftKey: true }), "previousHit");
  assert.equal(actionOf({ ...plain, key: "w", ctrlKey: true }), null);
  assert.equal(actionOf({ ...plain, key: "x" }), null);
});

test("colours are stable, and text upon them is readable, in light and dark", () => {
  const theme = (ground: Rgb, series: Rgb[]): Theme => ({ ground, series }) as unknown as Theme;
  const light = theme([255, 255, 255], [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [163, 155, 0], [107, 114, 128]]);
  const dark = theme([15, 18, 22], [[74, 168, 224], [240, 184, 64], [63, 199, 154], [226, 163, 197], [143, 208, 245], [255, 157, 92], [216, 208, 90], [163, 172, 184]]);
  assert.equal(hash("kernel"), hash("kernel"));
  for (let each = 0; each < 500; each += 1) {
    for (const scheme of [light, dark]) {
      const colour = colourOf(`kernel_${each}<${each * 7}>`, `kernel_${each}`, scheme);
      assert.ok(contrast(colour, inkUpon(colour)) >= 4.5, `${colour}`);
    }
  }
});
