import assert from "node:assert/strict";
import { test } from "node:test";
import { Columns, HIT, ON_PATH } from "../src/timeline/columns";
import { placeNear } from "../src/timeline/hit_test";
import { busyBetween, countBelow, firstAfter, lanesOf, marksBefore, type Lane } from "../src/timeline/lanes";
import { Largest } from "../src/timeline/largest";
import { random, slicesOf } from "./synthetic";

/** Slices one after another, some touching, some of no length, some of which spent only a part of it. */
function chain(count: number, seed: number): Lane {
  const next = random(seed);
  const rows: [number, number, number][] = [];
  let now = 0;
  for (let each = 0; each < count; each += 1) {
    now += next() < 0.3 ? 0 : Math.floor(next() * 50);
    const length = next() < 0.05 ? 0 : Math.floor(next() ** 4 * 400);
    rows.push([now, now + length, each % 7]);
    now += length;
  }
  const slices = slicesOf(rows);
  for (let each = 0; each < count; each += 9) slices.busy[each]! /= 2;
  for (let each = 0; each < count; each += 5) slices.onPath[each] = 1;
  return lanesOf(slices)[0]!;
}

function busyByHand(lane: Lane, from: number, to: number): number {
  let sum = 0;
  for (let place = 0; place < lane.start.length; place += 1) {
    const [start, end] = [lane.start[place]!, lane.end[place]!];
    const overlap = Math.min(end, to) - Math.max(start, from);
    if (overlap > 0) sum += (overlap * lane.busy[place]!) / (end - start);
  }
  return sum;
}

test("the largest of any part is the one that looking at each finds", () => {
  const next = random(3);
  for (const size of [1, 2, 15, 16, 17, 255, 256, 257, 5000]) {
    const values = Float64Array.from({ length: size }, () => Math.floor(next() * 40));
    const largest = new Largest(values);
    for (let trial = 0; trial < 200; trial += 1) {
      const from = Math.floor(next() * size);
      const to = from + 1 + Math.floor(next() * (size - from));
      const part = values.subarray(from, to);
      assert.equal(largest.between(from, to), from + part.indexOf(Math.max(...part)), `${from} to ${to} of ${size}`);
    }
  }
});

test("entries below a limit are counted from any place on", () => {
  const column = Float64Array.from([0, 1, 1, 4, 9, 9, 12]);
  for (let limit = -1; limit < 14; limit += 1) {
    const expected = column.filter((each) => each < limit).length;
    for (let begin = 0; begin <= expected; begin += 1) assert.equal(countBelow(column, limit, begin), expected);
  }
  assert.equal(countBelow(new Float64Array(0), 5), 0);
});

test("the time spent within any range is exact", () => {
  const lane = chain(3000, 11);
  const next = random(5);
  const length = lane.end[lane.end.length - 1]!;
  for (let trial = 0; trial < 400; trial += 1) {
    const from = next() * length;
    const to = from + next() ** 6 * (length - from);
    assert.ok(Math.abs(busyBetween(lane, from, to) - busyByHand(lane, from, to)) < 1e-6, `${from} to ${to}`);
  }
});

for (const zoom of [1, 0.3, 0.01, 0.0005]) {
  test(`columns cover what the slices cover, at ${100 * zoom} % of the recording`, () => {
    const lane = chain(4000, 7);
    const whole = lane.end[lane.end.length - 1]!;
    const range = { from: whole * 0.37, to: whole * 0.37 + whole * 0.6 * zoom };
    const columns = new Columns(500, 20);
    columns.fill(lane, range);
    const each = (range.to - range.from) / columns.width;
    for (let x = 0; x < columns.width; x += 1) {
      const expected = busyByHand(lane, range.from + x * each, range.from + (x + 1) * each) / each;
      assert.ok(Math.abs(columns.covered[x]! - expected) < 1e-4, `column ${x}: ${columns.covered[x]} for ${expected}`);
      assert.ok(expected === 0 || columns.top[x]! >= 0, `column ${x} shows nothing`);
    }
  });
}

test("a single short slice is seen in a long recording", () => {
  const lane = lanesOf(slicesOf([[500_000, 500_001, 0], [1e9, 1e9, 0]]))[0]!;
  const columns = new Columns(100, 20);
  columns.fill(lane, { from: 0, to: 1e6 });
  assert.equal(columns.top[50], 0);
  assert.equal(columns.top.filter((each) => each >= 0).length, 1);
});

test("columns carry the marks of everything in them", () => {
  const lane = chain(2000, 2);
  lane.hitsBefore = marksBefore(lane.slice, (slice) => slice === 1234);
  const columns = new Columns(300, 20);
  columns.fill(lane, { from: 0, to: lane.end[lane.end.length - 1]! });
  const hits = [...columns.marks].flatMap((marks, x) => (marks & HIT ? [x] : []));
  assert.ok(hits.length >= 1 && hits.length <= 2, String(hits));
  assert.ok(columns.marks.some((marks) => (marks & ON_PATH) !== 0));
});

test("slices that overlap go into lanes of their own, nested ones by depth", () => {
  const lanes = lanesOf(slicesOf([[0, 100, 0, 0], [10, 60, 1, 1], [50, 90, 2, 1], [100, 120, 3, 0]]));
  assert.deepEqual(lanes.map((lane) => [...lane.slice]), [[0, 3], [1], [2]]);
  for (const lane of lanes) assert.deepEqual(lane.reach, lane.end);
});

test("hundreds of slices at the same time share the last lane, and none is lost", () => {
  const rows = Array.from({ length: 600 }, (_, each) => [each, 10_000 - each, each, 0] as const);
  const lanes = lanesOf(slicesOf(rows));
  assert.equal(lanes.length, 256);
  assert.equal(lanes.reduce((sum, lane) => sum + lane.slice.length, 0), 600);
  assert.equal(firstAfter(lanes[lanes.length - 1]!, 9_700), 0);
});

test("the pointer finds the slice below it, or a short one close by", () => {
  const lane = lanesOf(slicesOf([[0, 100, 0], [200, 202, 1], [207, 208, 2], [400, 500, 3]]))[0]!;
  assert.equal(placeNear(lane, 50, 5), 0);
  assert.equal(placeNear(lane, 204, 5), 1);
  assert.equal(placeNear(lane, 300, 5), -1);
  assert.equal(placeNear(lane, 600, 5), -1);
});

test("a row without slices has no lanes", () => assert.deepEqual(lanesOf(slicesOf([])), []));
