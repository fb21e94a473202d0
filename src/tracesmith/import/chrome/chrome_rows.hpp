// SPDX-License-Identifier: Apache-2.0
// Converts an event of a Chrome JSON document to a row of the table that its plan names.
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/import/chrome/chrome_sources.hpp"
#include "tracesmith/import/chrome/chrome_tracks.hpp"
#include "tracesmith/import/json/json_events.hpp"
#include "tracesmith/import/json/json_token.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class ChromeRows {
 public:
  /// Pushes rows to `delta`. `delta` and `places` must outlive this object.
  ChromeRows(Trace& delta, ChromeTracks& places) : delta_(delta), tracks_(places) {}

  /// Pushes one row to the plan's table. A wait for an event also adds a flow.
  void push(const ChromeEvent& event, const ChromePlan& plan, int64_t start_ns,
            int64_t duration_ns);
  StringId categoryOf(const ChromeEvent& event, const ChromePlan& plan) {
    const JsonToken& category = event[EventField::kCategory];
    return category.text ? text(category) : plan.category;
  }
  StringId text(const JsonToken& token) { return delta_.strings.intern(textOf(token, room_)); }

 private:
  struct Span {
    const ChromeEvent& event;
    const ChromePlan& plan;
    int64_t start_ns;
    int64_t duration_ns;
    StringId name;
  };

  template <class Row>
  Row workRow(const Span& span);
  void pushSync(const Span& span);
  void pushCall(const Span& span);
  void pushMemory(const Span& span);
  void pushArrow(const Span& span);
  void pushRange(const Span& span);
  void pushWait(const ChromeEvent& event, const SyncRow& wait);

  Trace& delta_;
  ChromeTracks& tracks_;
  std::string room_;  // buffer for unescaped texts
};

}  // namespace tracesmith::import
