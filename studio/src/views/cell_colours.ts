// SPDX-License-Identifier: Apache-2.0
// Colours of values: a heat map whose lightness grows with the value, and one that is white at zero.

export interface Scale {
  low: number;
  high: number;
  colours: "heat" | "diverging" | "grey";
}
type Colour = [number, number, number, number];

const HEAT = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]] as const;
const DIVERGING = [[33, 102, 172], [146, 197, 222], [247, 247, 247], [244, 165, 130], [178, 24, 43]] as const;
const MISSING: Colour = [255, 0, 200, 255];

function along(stops: readonly (readonly [number, number, number])[], share: number): Colour {
  const at = share * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  const from = stops[i]!, to = stops[i + 1]!, part = at - i;
  return [0, 1, 2].map((c) => from[c]! + (to[c]! - from[c]!) * part).concat(255) as Colour;
}

/** `values`: of one pixel: one, or red, green, blue and perhaps alpha. */
export function colourOf(values: Float32Array, scale: Scale): Colour {
  const range = scale.high - scale.low;
  const shares = [...values].map((v) => (range > 0 ? Math.min(1, Math.max(0, (v - scale.low) / range)) : 0.5));
  if (shares.some(Number.isNaN)) return MISSING;
  const [one = 0, two = one, three = one, alpha = 1] = shares;
  if (scale.colours === "grey") return [255 * one, 255 * two, 255 * three, 255 * alpha];
  return along(scale.colours === "heat" ? HEAT : DIVERGING, one);
}
