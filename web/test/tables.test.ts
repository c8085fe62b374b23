import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, matches, type SortKey } from "../src/tables";

const key = (number: number | null, text = ""): SortKey => ({ number, text });

test("numbers are sorted by their value, whatever the text says", () => {
  const keys = [key(9, "9 ns"), key(1000, "1.00 us"), key(20, "20 ns")];
  assert.deepEqual(keys.sort((one, two) => compared(one, two, 1)).map((each) => each.number), [9, 20, 1000]);
  assert.deepEqual(keys.sort((one, two) => compared(one, two, -1)).map((each) => each.number), [1000, 20, 9]);
});

test("what has no number comes last, both ways", () => {
  for (const direction of [1, -1] as const) {
    const keys = [key(null, "-"), key(2), key(1)].sort((one, two) => compared(one, two, direction));
    assert.equal(keys.at(-1)?.number, null);
  }
});

test("texts are sorted as texts", () => {
  const keys = [key(null, "b"), key(null, "a")].sort((one, two) => compared(one, two, 1));
  assert.deepEqual(keys.map((each) => each.text), ["a", "b"]);
});

test("a row matches if it has every word, in any case and order", () => {
  assert.ok(matches("31.9 % Cijk_Alik MT64x32", "mt64 cijk"));
  assert.ok(!matches("31.9 % Cijk_Alik MT64x32", "mt64 gelu"));
  assert.ok(matches("anything", ""));
});
