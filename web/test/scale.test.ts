import assert from "node:assert/strict";
import { test } from "node:test";
import { nsAt, panned, SHORTEST_NS, tickStep, withMargin, within, xOf, zoomed } from "../src/timeline/scale";

const WHOLE = { from: 0, to: 1000 };

test("zooming keeps the moment below the pointer where it is", () => {
  const range = zoomed({ from: 100, to: 300 }, 0.5, 150);
  assert.deepEqual(range, { from: 125, to: 225 });
  assert.equal(xOf(150, range, 800), xOf(150, { from: 100, to: 300 }, 800));
});

test("panning moves by a share of the length", () => {
  assert.deepEqual(panned({ from: 100, to: 300 }, 0.25), { from: 150, to: 350 });
});

test("a range beyond the limits moves inside and keeps its length", () => {
  assert.deepEqual(within({ from: -50, to: 150 }, WHOLE), { from: 0, to: 200 });
  assert.deepEqual(within({ from: 900, to: 1100 }, WHOLE), { from: 800, to: 1000 });
  assert.deepEqual(within({ from: -5000, to: 5000 }, WHOLE), WHOLE);
});

test("no range is shorter than a clock can tell, not even in a recording without length", () => {
  assert.deepEqual(within({ from: 500, to: 500 }, WHOLE), { from: 500 - SHORTEST_NS / 2, to: 500 + SHORTEST_NS / 2 });
  assert.deepEqual(within({ from: 0, to: 1 }, { from: 0, to: 1 }), { from: 0, to: SHORTEST_NS });
});

test("moments and places on the screen are each other's inverse", () => {
  const range = { from: 12.5, to: 812.5 };
  for (const ns of [12.5, 100, 812.5]) assert.ok(Math.abs(nsAt(xOf(ns, range, 731), range, 731) - ns) < 1e-9);
});

test("a margin is added on both sides, however short the range", () => {
  assert.deepEqual(withMargin({ from: 100, to: 200 }, 0.5), { from: 50, to: 250 });
  assert.ok(withMargin({ from: 100, to: 100 }, 0.5).from < 100);
});

test("ticks are round and far enough apart", () => {
  for (const length of [25, 333, 7e4, 5.5e6, 9.99e8, 3.6e12]) {
    const step = tickStep({ from: 0, to: length }, 1000, 96);
    assert.ok((step * 1000) / length >= 95.99, `${step} of ${length}`);
    assert.match(String(step), /^[125]0*$/);
  }
});
