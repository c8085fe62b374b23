// Names come from recordings and may hold anything: here they become one line of harmless text.

// Controls, line separators, marks of direction, and halves of characters: the same as text.py escapes.
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The name with everything that is not seen, or that turns the line round, written as \uNNNN. */
export function visibleName(name: string): string {
  return name.replace(UNSEEN, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text cut in the middle to at most so many characters: both ends of a kernel's name tell it from others. */
export function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  if (most < 2) return most === 1 ? "…" : "";
  const head = Math.ceil((most - 1) / 2);
  const tail = most - 1 - head;
  return `${withoutHalf(text.slice(0, head))}…${withoutHalf(tail > 0 ? text.slice(-tail) : "")}`;
}

/** What a name begins with, which kernels of one kind share: "void at::native::add_kernel<4>(...)" -> "add_kernel". */
export function stem(name: string): string {
  const plain = name.slice(0, 400).replace(/^(void|static|__global__)\s+/, "").split(/[<(\s]/, 1)[0] ?? "";
  const last = plain.slice(plain.lastIndexOf("::") + 1).replace(/^:/, "");
  return (last || name.slice(0, 24)).split("_").slice(0, 2).join("_").replace(/\d+$/, "");
}

function withoutHalf(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, "").replace(/^[\udc00-\udfff]/, "");
}
