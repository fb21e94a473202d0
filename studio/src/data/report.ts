// SPDX-License-Identifier: Apache-2.0
// The answers of a page without a server: inside the page (a report), or in files beside it.
import { readTiles, type LaneTile } from "./tiles.ts";
import type { TileKey } from "./server.ts";
import type { Names } from "./types.ts";

const TILES_OF_FILE = 64; // as studio/answers/static_site.cpp writes them
const NAMES_OF_FILE = 1024;

interface Answers {
  [question: string]: unknown;
}

function unpack(bytes: ReadableStream<Uint8Array<ArrayBuffer>>): Response {
  return new Response(bytes.pipeThrough(new DecompressionStream("gzip")));
}

/** The bytes of an element: gzip in base64. */
function unpackElement(id: string): Response {
  const text = document.getElementById(id)?.textContent ?? "";
  return unpack(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]).stream());
}

/** undefined: there is no such file. */
async function unpackFile(path: string): Promise<Response | undefined> {
  const response = await fetch(path);
  return response.ok && response.body ? unpack(response.body) : undefined;
}

export class Report {
  private constructor(
    private readonly answers: Answers,
    /** Of the files; "": all is in the page. */
    private readonly folder: string,
    /** All tiles of a page, until they are asked for. */
    private all: LaneTile[],
    private readonly known: Names,
  ) {}

  /** The report that this page is; null: the page has a server. */
  static async ofPage(): Promise<Report | null> {
    if (typeof document === "undefined") return null;
    const folder = document.getElementById("page")?.dataset["files"];
    if (folder !== undefined) {
      const answers = await unpackFile(`${folder}answers.json.gz`);
      if (!answers) throw new Error(`${folder}answers.json.gz is missing.`);
      return new Report((await answers.json()) as Answers, folder, [], {});
    }
    if (!document.getElementById("report-answers")) return null;
    const answers = (await unpackElement("report-answers").json()) as Answers;
    const tiles = readTiles(await unpackElement("report-tiles").arrayBuffer());
    const { names } = (await unpackElement("report-names").json()) as { names: Names };
    return new Report(answers, "", tiles, names);
  }

  has(question: string): boolean {
    return question in this.answers;
  }
  json<T>(question: string): T {
    if (!this.has(question)) throw new Error("This is not in the report. Open the trace with `tracesmith studio`.");
    return this.answers[question] as T;
  }

  /** Those of the wanted tiles that there are, and others. */
  async tiles(keys: TileKey[]): Promise<LaneTile[]> {
    if (this.folder === "") {
      const all = this.all;
      this.all = [];
      return all;
    }
    const names = new Set(keys.map((key) => `tiles/${key.lane}_${key.level}_${Math.floor(key.index / TILES_OF_FILE)}.gz`));
    const files = await Promise.all([...names].map(async (name) => (await unpackFile(this.folder + name))?.arrayBuffer()));
    return files.flatMap((bytes) => (bytes ? readTiles(bytes) : []));
  }

  async names(ids: number[]): Promise<Names> {
    if (this.folder === "") return this.known;
    const files = new Set(ids.map((id) => Math.floor(id / NAMES_OF_FILE)));
    const found = await Promise.all([...files].map(async (file) => (await unpackFile(`${this.folder}names_${file}.json.gz`))?.json() as Promise<{ names: Names } | undefined>));
    return Object.assign({}, ...found.map((part) => part?.names ?? {})) as Names;
  }
}
