// SPDX-License-Identifier: Apache-2.0
// JSON as a text.
#pragma once

#include <string>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/output/output.hpp"

namespace tracesmith::studio {

/// A table with its columns.
void writeTableAnswer(const ReportTable& table, JsonWriter& out);

/// What write(JsonWriter&) writes.
template <class Write>
std::string jsonAnswer(Write&& write) {
  std::string text;
  Output out = Output::toString(&text);
  JsonWriter json(out);
  write(json);
  (void)out.finish();  // a text has room
  return text;
}

}  // namespace tracesmith::studio
