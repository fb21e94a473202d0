// SPDX-License-Identifier: Apache-2.0
// Asks for what lies in a part of the time and beside it, after the part has not changed for a moment. An answer to an
// earlier question is dropped.
import type { Window } from "../timeline/window.ts";

const DELAY_MS = 120;

export class PartLoader<Answer> {
  private part: Window | null = null;
  private timer = 0;
  private asked = 0;

  constructor(
    private readonly load: (part: Window) => Promise<Answer>,
    private readonly take: (answer: Answer) => void,
    private readonly failed: (error: Error) => void,
  ) {}

  /** `whole`: what is there has everything of its part, at any scale. */
  want(window: Window, whole: boolean): void {
    const length = window.end - window.begin;
    const part = this.part;
    const inside = part !== null && window.begin >= part.begin && window.end <= part.end;
    if (inside && (whole || part.end - part.begin < 4 * length)) return;
    const wanted = { begin: window.begin - length / 2, end: window.end + length / 2 };
    this.part = wanted;
    clearTimeout(this.timer);
    const number = ++this.asked;
    this.timer = setTimeout(() => {
      this.load(wanted).then((answer) => number === this.asked && this.take(answer), (error: Error) => number === this.asked && this.failed(error));
    }, DELAY_MS) as unknown as number;
  }

  /** What is there is of no use any more. */
  forget(): void {
    this.part = null;
    clearTimeout(this.timer);
    ++this.asked;
  }
}
