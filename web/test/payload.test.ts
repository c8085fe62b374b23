import assert from "node:assert/strict";
import { test } from "node:test";
import { detailsOf, enclosing, readPayload, type Timeline } from "../src/data";
import written from "./payload.json"; // by tests/unit/render/page/payload_example.py

/** As JSON has it: columns are lists, and NaN is null. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, each: unknown) => (ArrayBuffer.isView(each) ? Array.from(each as Float64Array) : each)));
}

test("reads what Python wrote", async () => {
  const { document, timeline } = await readPayload(written.payload);
  assert.deepEqual(plain(document), written.document);
  assert.deepEqual(plain(timeline), written.timeline);
});

test("a page without a timeline", async () => {
  assert.deepEqual(await readPayload(written.without), { document: written.document, timeline: null });
});

test("columns have the types that the contract states", async () => {
  const { timeline } = await readPayload(written.payload);
  const { slices, at } = timeline!.tracks[3]!;
  assert.ok(slices.start instanceof Float64Array && slices.busy instanceof Float64Array && at instanceof Float64Array);
  assert.ok(slices.name instanceof Uint32Array && slices.count instanceof Uint32Array);
  assert.ok(slices.depth instanceof Uint8Array && slices.onPath instanceof Uint8Array);
});

test("damaged text is refused", async () => {
  await assert.rejects(readPayload(written.payload.slice(0, 400)));
  await assert.rejects(readPayload("not base64 at all"));
});

/** A thread that launches a copy from within an operator, and a GPU that was idle before it. */
function launched(): Timeline {
  const slices = (start: number[], end: number[], name: number[], depth: number[]) => ({
    start: Float64Array.from(start),
    end: Float64Array.from(end),
    name: Uint32Array.from(name),
    depth: Uint8Array.from(depth),
    count: new Uint32Array(start.length).fill(1),
    busy: Float64Array.from(end, (each, place) => each - start[place]!),
    onPath: new Uint8Array(start.length),
    details: [],
  });
  const row = { unit: "", at: new Float64Array(), value: new Float64Array() };
  const copy = slices([80], [180], [2], [0]);
  return {
    beginNs: "0", lengthNs: 200, names: ["add", "hipMemcpyAsync", "copy H2D", "host sync"], labels: [], steps: new Float64Array(), judged: null, thinned: null, notes: [],
    tracks: [
      { ...row, kind: "thread", group: "Process 1", title: "thread 1", slices: slices([0, 10], [60, 50], [0, 1], [0, 1]) },
      { ...row, kind: "gaps", group: "GPU 0", title: "idle", slices: slices([20], [80], [3], [0]) },
      { ...row, kind: "copies", group: "GPU 0", title: "stream 0", slices: { ...copy, details: [{ label: "size", unit: "B", isText: false, values: Float64Array.of(1000) }] } },
    ],
    flows: { fromTrack: Uint32Array.of(0), fromSlice: Uint32Array.of(1), toTrack: Uint32Array.of(2), toSlice: Uint32Array.of(0) },
  };
}

test("what follows from size, launch and gap", () => {
  assert.deepEqual(detailsOf(launched(), 2, 0), [
    { label: "size", value: 1000, unit: "B" },
    { label: "bandwidth", value: 1e10, unit: "B/s" },
    { label: "launched within", value: "add", unit: "" },
    { label: "began after its launch returned", value: 30, unit: "ns" },
    { label: "the GPU was idle before it because of", value: "host sync", unit: "" },
  ]);
  assert.deepEqual(detailsOf(launched(), 0, 0), []);
  assert.deepEqual(detailsOf(launched(), 7, 0), []);
});

test("the slice around another", () => {
  const { slices } = launched().tracks[0]!;
  assert.equal(enclosing(slices, 1), 0);
  assert.equal(enclosing(slices, 0), -1);
});
