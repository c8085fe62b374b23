// The page's colours as the canvas needs them, and which of them a name gets.

import type { Timeline } from "../data";
import { stem } from "./names";

export type Rgb = readonly [number, number, number];

/** The page's colours of the moment (colours.css), light or dark. */
export interface Theme {
  ground: Rgb;
  surface: Rgb;
  raised: Rgb;
  line: Rgb;
  ink: Rgb;
  inkSoft: Rgb;
  accent: Rgb;
  path: Rgb;
  idle: Rgb;
  series: Rgb[];
}

/** A colour that depends on the theme alone. */
export type Look = (theme: Theme) => Rgb;

/** The colours of all names: as pixels, as fill styles, and the colour of text upon each. */
export interface Palette {
  pixels: Uint32Array; // 0xAABBGGRR, as ImageData has it on little-endian machines
  inks: string[];
}

const SHADES = [0, 0.16, 0.32, 0.46]; // how far a name of a kind leans to the ground
const HUES = [0, 1, 2, 3, 4, 6]; // of the series, without the critical path's colour and the grey of gaps
const DARK: Rgb = [16, 19, 24];
const LIGHT: Rgb = [255, 255, 255];

/** The theme of the element's page, read from its style. */
export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const colour = (name: string): Rgb => parseColour(style.getPropertyValue(`--${name}`));
  return {
    ground: colour("ground"),
    surface: colour("surface"),
    raised: colour("raised"),
    line: colour("line"),
    ink: colour("ink"),
    inkSoft: colour("ink-soft"),
    accent: colour("accent"),
    path: colour("path"),
    idle: colour("idle"),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((each) => colour(`series-${each}`)),
  };
}

/** A colour for each name: as `looks` has it, else its own. */
export function paletteOf({ names, labels }: Pick<Timeline, "names" | "labels">, looks: ReadonlyMap<number, Look>, theme: Theme): Palette {
  const pixels = new Uint32Array(names.length);
  const inks = new Array<string>(names.length);
  names.forEach((name, index) => {
    const colour = looks.get(index)?.(theme) ?? colourOf(name, labels[index] || name, theme);
    pixels[index] = pixelOf(colour);
    inks[index] = css(inkUpon(colour));
  });
  return { pixels, inks };
}

/** The colour of a name: those whose labels begin alike share a hue, and the whole name shades it. */
export function colourOf(name: string, label: string, theme: Theme): Rgb {
  const hue = theme.series[HUES[hash(stem(label)) % HUES.length]!]!;
  return mix(hue, theme.ground, SHADES[hash(name) % SHADES.length]!);
}

/** Black or white, whichever is read more easily upon the colour. */
export function inkUpon(colour: Rgb): Rgb {
  return contrast(colour, DARK) >= contrast(colour, LIGHT) ? DARK : LIGHT;
}

/** The contrast of two colours, from 1 to 21 (WCAG 2.2). */
export function contrast(one: Rgb, other: Rgb): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

export function css([red, green, blue]: Rgb, alpha = 1): string {
  return alpha === 1 ? `rgb(${red},${green},${blue})` : `rgba(${red},${green},${blue},${alpha})`;
}

export function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const part = (place: 0 | 1 | 2): number => Math.round(one[place] + (other[place] - one[place]) * share);
  return [part(0), part(1), part(2)];
}

export function pixelOf([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function rgbOf(pixel: number): Rgb {
  return [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255];
}

/** The same number for the same text, on every machine (FNV-1a). */
export function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let place = 0; place < text.length; place += 1) state = Math.imul(state ^ text.charCodeAt(place), 0x01000193);
  return (state ^ (state >>> 15)) >>> 0;
}

function parseColour(text: string): Rgb {
  const digits = /^#([0-9a-f]{6})$/i.exec(text.trim())?.[1];
  const value = digits === undefined ? 0x808080 : Number.parseInt(digits, 16);
  return [value >>> 16, (value >>> 8) & 255, value & 255];
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((each) => {
    const part = each / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
