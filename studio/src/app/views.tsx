// SPDX-License-Identifier: Apache-2.0
// The views of the page, in the order of their tabs.
import type { ComponentType } from "react";
import type { TraceInfo } from "../data/types.ts";
import { Findings } from "../views/findings.tsx";
import { Sql } from "../views/sql.tsx";
import { Tables } from "../views/tables.tsx";

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
  { key: "sql", title: "SQL", reported: false, View: Sql },
];
