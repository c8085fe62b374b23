// Times and counts as text, in the same words as the rest of the report (units.py).

const TIME_UNITS: readonly (readonly [number, string])[] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

const SIZE_UNITS: typeof TIME_UNITS = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

/** A time with its unit: 1234567 -> "1.23 ms". */
export function formatNs(ns: number): string {
  return scaled(ns, TIME_UNITS);
}

/** A size with its unit: 65536 -> "64.0 KiB". */
export function formatBytes(bytes: number): string {
  return scaled(bytes, SIZE_UNITS);
}

/** A number that the recording holds, as its unit asks for. */
export function formatQuantity(value: number, unit: string): string {
  if (unit === "ns") return formatNs(value);
  if (unit === "B") return formatBytes(value);
  if (unit === "B/s") return `${formatBytes(value)}/s`;
  return unit ? `${formatReading(value)} ${unit}` : formatReading(value);
}

/** A moment on the ruler, with as many digits as tell it from the next tick: (1500000, 100000) -> "1.5 ms". */
export function formatMoment(ns: number, stepNs: number): string {
  const size = Math.max(Math.abs(ns), stepNs);
  const [factor, unit] = TIME_UNITS.find(([each]) => size >= each) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(Math.log10(factor / stepNs) - 1e-9));
  return ns === 0 ? "0" : `${grouped(ns / factor, Math.min(digits, 9))} ${unit}`;
}

/** A reading of a counter: three digits that count, and commas between thousands. */
export function formatReading(value: number): string {
  return Number.isInteger(value) ? grouped(value, 0) : grouped(value, fractionDigits(value));
}

/** A number with its noun: (2, "slice") -> "2 slices". */
export function formatCount(count: number, noun: string): string {
  return `${grouped(count, 0)} ${count === 1 ? noun : `${noun}s`}`;
}

/** A share as a percentage; one that is small but not zero never reads as zero. */
export function formatShare(share: number): string {
  return share > 0 && share < 0.001 ? "<0.1 %" : `${(100 * share).toFixed(1)} %`;
}

function scaled(value: number, units: typeof TIME_UNITS): string {
  for (const [factor, unit] of units) {
    if (Math.abs(value) < factor) continue;
    const part = value / factor;
    return `${grouped(part, factor === 1 ? 0 : fractionDigits(part))} ${unit}`;
  }
  return `0 ${units[units.length - 1]![1]}`;
}

function fractionDigits(value: number): number {
  const size = Math.abs(value);
  return size < 10 ? 2 : size < 100 ? 1 : 0;
}

function grouped(value: number, digits: number): string {
  const [whole = "", fraction] = value.toFixed(digits).split(".");
  const commas = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? commas : `${commas}.${fraction}`;
}
