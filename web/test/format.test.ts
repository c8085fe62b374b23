import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatCount, formatMoment, formatNs, formatQuantity, formatReading, formatShare } from "../src/timeline/format";
import { cutMiddle, stem, visibleName } from "../src/timeline/names";

test("times have the units and digits of units.py", () => {
  const expected: [number, string][] = [
    [0, "0 ns"],
    [999, "999 ns"],
    [1234567, "1.23 ms"],
    [12_345_678, "12.3 ms"],
    [123_456_789, "123 ms"],
    [2e9, "2.00 s"],
    [5e12, "5,000 s"],
    [-1500, "-1.50 us"],
  ];
  for (const [ns, text] of expected) assert.equal(formatNs(ns), text);
});

test("a tick has as many digits as tell it from its neighbour", () => {
  assert.equal(formatMoment(0, 1e6), "0");
  assert.equal(formatMoment(1_500_000, 100_000), "1.5 ms");
  assert.equal(formatMoment(1_500_000, 500), "1.5000 ms");
  assert.equal(formatMoment(2e9, 1e9), "2 s");
  assert.notEqual(formatMoment(1_234_567_890, 10), formatMoment(1_234_567_900, 10));
});

test("sizes, readings, counts and shares", () => {
  assert.equal(formatBytes(65536), "64.0 KiB");
  assert.equal(formatQuantity(65536, "B/s"), "64.0 KiB/s");
  assert.equal(formatQuantity(12, ""), "12");
  assert.equal(formatQuantity(1500, "ns"), "1.50 us");
  assert.equal(formatReading(1234.5), "1,235");
  assert.equal(formatCount(1, "hit"), "1 hit");
  assert.equal(formatCount(1234, "hit"), "1,234 hits");
  assert.equal(formatShare(0.00001), "<0.1 %");
  assert.equal(formatShare(0.1234), "12.3 %");
});

test("a name is cut in the middle, and never longer than asked for", () => {
  assert.equal(cutMiddle("kernel", 6), "kernel");
  assert.equal(cutMiddle("abcdefghij", 5), "ab…ij");
  for (let most = 0; most < 12; most += 1) assert.ok(cutMiddle("abcdefghij", most).length <= Math.max(most, 0));
  assert.equal(visibleName(cutMiddle("😀😀😀😀", 4)), "😀…"); // half a character would be written out
});

test("what cannot be seen, or turns the line round, is written out", () => {
  assert.equal(visibleName("a\u202eb\nc\u0000"), "a\\u202eb\\u000ac\\u0000");
  assert.equal(visibleName("half \ud800"), "half \\ud800");
  assert.equal(visibleName("<b>é 日本 😀</b>"), "<b>é 日本 😀</b>");
});

test("kernels of one kind share a stem", () => {
  assert.equal(stem("void at::native::add_kernel<4, float>(int)"), "add_kernel");
  assert.equal(stem("Cijk_Ailk_Bljk_MT256"), stem("Cijk_Ailk_Bjlk_MT64"));
  assert.notEqual(stem("reduce_kernel"), stem("add_kernel"));
  assert.equal(stem(""), "");
});
