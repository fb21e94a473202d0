// SPDX-License-Identifier: Apache-2.0
// The answers that a report file has inside. It has no server to ask for more.
import type { Names, Table, TraceInfo } from "./types.ts";

interface Answers {
  trace: TraceInfo;
  findings: { tables: Table[] };
  parts: { parts: { key: string; title: string }[] };
  analysis: { [part: string]: { tables: Table[] } };
  names: { names: Names };
}

const NO_TILES = new Uint32Array([0x31545354, 0]).buffer;

/** The bytes of an element: gzip in base64. */
async function unpack(element: Element): Promise<Response> {
  const bytes = Uint8Array.from(atob(element.textContent ?? ""), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

export class Report {
  private constructor(private readonly answers: Answers, private tiles: ArrayBuffer) {}

  /** The report of this page; null: the page has a server. */
  static async ofPage(): Promise<Report | null> {
    const answers = document.getElementById("report-answers");
    const tiles = document.getElementById("report-tiles");
    if (!answers || !tiles) return null;
    return new Report((await (await unpack(answers)).json()) as Answers, await (await unpack(tiles)).arrayBuffer());
  }

  trace = async () => this.answers.trace;
  findings = async () => this.answers.findings.tables;
  parts = async () => this.answers.parts.parts;
  analysis = async (part: string) => this.answers.analysis[part]?.tables ?? [];
  names = async (): Promise<Names> => this.answers.names.names;
  /** All tiles, once. */
  allTiles = async (): Promise<ArrayBuffer> => {
    const all = this.tiles;
    this.tiles = NO_TILES;
    return all;
  };
}
