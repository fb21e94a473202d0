// SPDX-License-Identifier: Apache-2.0
// Colours of items: by kind (after Okabe and Ito, for people who see few colours, and further tones), or by
// name.

const BY_KIND: Record<string, number> = {
  gemm: 0x0072b2, attention: 0xd55e00, convolution: 0x009e73, normalization: 0xcc79a7, softmax: 0xe69f00,
  elementwise: 0x56b4e9, reduction: 0x7b61c4, copy: 0xb8a000, sort: 0x8c564b, embedding: 0x3aa6a0,
  random: 0xa0728f, optimizer: 0x5b8c2a, pooling: 0x4c78a8, collective: 0xc23b4b, fill: 0x9c8f5a,
  sync: 0x8a8f98, "API call": 0x7f93ad, range: 0x6f9f8f, other: 0x8892a0,
};
const BY_NAME = [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x7b61c4, 0xb8a000, 0x8c564b,
  0x3aa6a0, 0xc23b4b, 0x5b8c2a, 0x4c78a8, 0xa0728f];

export function coloursOf(kinds: readonly string[]): number[] {
  return kinds.map((kind) => BY_KIND[kind] ?? 0x8892a0);
}

export function colourOfName(name: number): number {
  return BY_NAME[(Math.imul(name, 2654435761) >>> 8) % BY_NAME.length] ?? 0x8892a0;
}

export function css(rgb: number): string {
  return `#${rgb.toString(16).padStart(6, "0")}`;
}

/** For ImageData on little-endian machines; `alpha` 0 to 255. */
export function pixel(rgb: number, alpha: number): number {
  return ((alpha << 24) | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}
