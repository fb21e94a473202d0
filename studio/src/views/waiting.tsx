// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "react";

/** What is being done, for how many seconds, and a button that ends it. */
export function Waiting({ what, stop }: { what: string; stop: () => void }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return <p className="soft">{what}…{seconds > 0 && ` ${seconds} s `}{seconds > 0 && <button onClick={stop}>Stop</button>}</p>;
}
