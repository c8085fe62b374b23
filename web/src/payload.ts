// Reads what src/rocm_perf/render/page/payload.py wrote: base64 of a zlib stream of the header's length, the header in
// JSON, and the columns, each as planes of bytes.
import type { Detail, Flows, PageData, Slices, Timeline, Track, TrackKind } from "./data";

interface ColumnKind {
  count: number;
  planes: number;
  signed?: true; // zigzag: 0, -1, 1, -2, ...
  differences?: true; // of each value to the one before
  optional?: true; // value + 1, and 0 where there is none
  real?: true; // the bytes of doubles
}

interface PackedTimeline extends Omit<Timeline, "labels" | "tracks" | "flows" | "steps"> {
  labels: (string | null)[];
  tracks: { kind: TrackKind; group: string; title: string; unit: string; first: number; length: number }[];
  slices: { start: number; length: number; name: number; depth: number; more: number; idle: number; onPath: number };
  details: { label: string; unit: string; isText: boolean; first: number; values: number }[];
  at: number;
  value: number;
  cause: number;
  effect: number;
  steps: number;
}

interface Header {
  document: Record<string, unknown>;
  timeline: PackedTimeline | null;
  columns: ColumnKind[];
}

/** The document and the timeline that a page carries. */
export async function readPayload(text: string): Promise<PageData> {
  const bytes = await inflated(decoded(text));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as Header;
  const { document, timeline } = header;
  return { document, timeline: timeline && unpacked(timeline, columnsOf(header.columns, bytes, 4 + length)) };
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text.trim());
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = characters.charCodeAt(place);
  return bytes;
}

async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

type Column = Float64Array<ArrayBuffer>;

function columnsOf(kinds: ColumnKind[], bytes: Uint8Array<ArrayBuffer>, first: number): Column[] {
  let place = first;
  return kinds.map((kind) => {
    const planes = bytes.subarray(place, place + kind.count * kind.planes);
    place += planes.length;
    return kind.real ? reals(planes, kind.count) : wholes(planes, kind);
  });
}

function reals(planes: Uint8Array, count: number): Column {
  const bytes = new Uint8Array(count * 8);
  for (let plane = 0; plane < 8; plane++)
    for (let row = 0; row < count; row++) bytes[row * 8 + plane] = planes[plane * count + row]!;
  return new Float64Array(bytes.buffer); // every browser's machine is little-endian
}

function wholes(planes: Uint8Array, { count, planes: width, signed, differences, optional }: ColumnKind): Column {
  const values = new Float64Array(count);
  for (let plane = 0, weight = 1, place = 0; plane < width; plane++, weight *= 256)
    for (let row = 0; row < count; row++, place++) values[row]! += planes[place]! * weight;
  if (signed) for (let row = 0; row < count; row++) values[row] = values[row]! % 2 ? -(values[row]! + 1) / 2 : values[row]! / 2;
  if (differences) for (let row = 1; row < count; row++) values[row]! += values[row - 1]!;
  if (optional) for (let row = 0; row < count; row++) values[row] = values[row] ? values[row]! - 1 : NaN;
  return values;
}

function unpacked(packed: PackedTimeline, columns: Column[]): Timeline {
  const { beginNs, lengthNs, names, judged, thinned, notes } = packed;
  const column = (number: number): Column => columns[number]!;
  const all = allSlices(packed, column);
  const at = column(packed.at);
  const value = column(packed.value);
  const tracks = packed.tracks.map(({ kind, group, title, unit, first, length }): Track => {
    const [drawn, read] = kind === "counter" ? [0, length] : [length, 0];
    const slices = part(all, first, drawn);
    slices.details = detailsWithin(packed, column, first, drawn);
    return { kind, group, title, unit, slices, at: at.subarray(first, first + read), value: value.subarray(first, first + read) };
  });
  const labels = packed.labels.map((label, place) => label ?? names[place]!);
  const flows = flowsBetween(packed.tracks, column(packed.cause), column(packed.effect));
  return { beginNs, lengthNs, names, labels, tracks, flows, steps: column(packed.steps), judged, thinned, notes };
}

function allSlices({ slices }: PackedTimeline, column: (number: number) => Column): Slices {
  const start = column(slices.start);
  const length = column(slices.length);
  const [end, busy] = [new Float64Array(start.length), new Float64Array(start.length)];
  const idle = column(slices.idle);
  const count = new Uint32Array(column(slices.more));
  for (let row = 0; row < start.length; row++) {
    end[row] = start[row]! + length[row]!;
    busy[row] = length[row]! - idle[row]!;
    count[row]! += 1;
  }
  const name = new Uint32Array(column(slices.name));
  const depth = new Uint8Array(column(slices.depth));
  return { start, end, name, depth, count, busy, onPath: new Uint8Array(column(slices.onPath)), details: [] };
}

function part(all: Slices, first: number, length: number): Slices {
  const end = first + length;
  return {
    start: all.start.subarray(first, end),
    end: all.end.subarray(first, end),
    name: all.name.subarray(first, end),
    depth: all.depth.subarray(first, end),
    count: all.count.subarray(first, end),
    busy: all.busy.subarray(first, end),
    onPath: all.onPath.subarray(first, end),
    details: [],
  };
}

function detailsWithin(packed: PackedTimeline, column: (number: number) => Column, first: number, length: number): Detail[] {
  const details: Detail[] = [];
  for (const { label, unit, isText, first: begin, values } of packed.details) {
    const all = column(values);
    if (length && begin <= first && first + length <= begin + all.length)
      details.push({ label, unit, isText, values: all.subarray(first - begin, first - begin + length) });
  }
  return details;
}

/** Rows of all slices, as tracks and slices within them. */
function flowsBetween(tracks: PackedTimeline["tracks"], cause: Column, effect: Column): Flows {
  const [fromTrack, fromSlice] = located(tracks, cause);
  const [toTrack, toSlice] = located(tracks, effect);
  return { fromTrack, fromSlice, toTrack, toSlice };
}

function located(tracks: PackedTimeline["tracks"], rows: Column): [Uint32Array, Uint32Array] {
  const numbered = tracks.map(({ kind, first, length }, number) => ({ number, first, end: kind === "counter" ? first : first + length }));
  const drawn = numbered.filter(({ first, end }) => first < end).sort((one, other) => one.first - other.first);
  const track = new Uint32Array(rows.length);
  const slice = new Uint32Array(rows.length);
  let place = 0; // neighbours are mostly of one track
  for (let flow = 0; flow < rows.length; flow++) {
    const row = rows[flow]!;
    if (row < drawn[place]!.first || row >= drawn[place]!.end) place = drawn.findIndex(({ end }) => row < end);
    track[flow] = drawn[place]!.number;
    slice[flow] = row - drawn[place]!.first;
  }
  return [track, slice];
}
