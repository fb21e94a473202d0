// SPDX-License-Identifier: Apache-2.0
// The views of the page, in the order of their tabs.
import type { ComponentType } from "react";
import type { TraceInfo } from "../data/types.ts";
import { Compare } from "../views/compare.tsx";
import { Files } from "../views/files.tsx";
import { Findings } from "../views/findings.tsx";
import { Memory } from "../views/memory.tsx";
import { Races } from "../views/races.tsx";
import { Recording } from "../views/recording.tsx";
import { Sql } from "../views/sql.tsx";
import { Stacks } from "../views/stacks.tsx";
import { Tables } from "../views/tables.tsx";
import { WhatIf } from "../views/what_if.tsx";

export interface ViewProps {
  trace: TraceInfo;
  /** Shows a problem to the user. */
  failed: (error: Error) => void;
  /** Shows a part of the timeline, in ns. */
  go: (begin: number, end: number) => void;
}

interface View {
  key: string;
  title: string;
  /** Also in a report, which has no server. */
  reported: boolean;
  View: ComponentType<ViewProps>;
}

/** Beside the timeline, which stays when others are shown. */
export const VIEWS: View[] = [
  { key: "findings", title: "Findings", reported: true, View: Findings },
  { key: "tables", title: "Tables", reported: true, View: Tables },
  { key: "stacks", title: "Stacks", reported: true, View: Stacks },
  { key: "memory", title: "Memory", reported: true, View: Memory },
  { key: "whatif", title: "What if", reported: false, View: WhatIf },
  { key: "races", title: "Races", reported: false, View: Races },
  { key: "recording", title: "Recording", reported: false, View: Recording },
  { key: "compare", title: "Compare", reported: false, View: Compare },
  { key: "sql", title: "SQL", reported: false, View: Sql },
  { key: "files", title: "Files", reported: true, View: Files },
];
