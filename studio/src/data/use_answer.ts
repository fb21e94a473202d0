// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "react";

/** The answer to a question; null while it is missing. `depends`: what a new question depends on. */
export function useAnswer<T>(question: () => Promise<T>, failed: (error: Error) => void, depends: unknown[]): T | null {
  const [answer, setAnswer] = useState<T | null>(null);
  useEffect(() => {
    let wanted = true;
    setAnswer(null);
    question().then((value) => wanted && setAnswer(value), (error: Error) => wanted && failed(error));
    return () => { wanted = false; };
  }, depends);
  return answer;
}
