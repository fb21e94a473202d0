// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/select/document_events.hpp"

#include "tracesmith/import/chrome/chrome_dialects.hpp"
#include "tracesmith/import/json/json_walker.hpp"

namespace tracesmith {
namespace {

constexpr std::string_view kArguments = "args.";

/// The value of "ph", if it is part of the shape's constant text.
char phaseIn(const SourceShape& shape) {
  constexpr std::string_view kKey = "\"ph\"";
  for (const std::string& text : shape.between) {
    for (size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
      const size_t value = text.find_first_not_of(" \t\r\n:", at + kKey.size());
      if (value != std::string::npos && text.size() - value > 2 && text[value] == '"' &&
          text[value + 2] == '"') {
        return text[value + 1];
      }
    }
  }
  return 0;
}

std::string_view unquoted(std::string_view json) {
  if (json.size() >= 2 && json.front() == '"') json = json.substr(1, json.size() - 2);
  return json;
}

}  // namespace

int64_t DocumentEvents::unitNs() const {
  return known_.metadataValue("imported_format") == import::kMcTracerImporter.format ? 1 : 1000;
}

const DocumentEvents::ValuePositions& DocumentEvents::positionsOf(StringId id,
                                                                  const SourceShape& shape) {
  const auto [it, fresh] = positions_.try_emplace(id);
  ValuePositions& p = it->second;
  if (!fresh) return p;
  p.phase = phaseIn(shape);
  p.whole = shape.gaps.size() == 1 && shape.gaps[0].key.empty();
  size_t place = 0;
  for (const SourceShape::Gap& gap : shape.gaps) {
    if (!isKept(gap.kind)) continue;
    if (gap.key == "ts") {
      p.time = place;
      p.time_kind = gap.kind;
    } else if (gap.key == "name") {
      p.name = place;
      p.name_kind = gap.kind;
    } else if (gap.key.starts_with(kArguments)) {
      p.arguments.push_back(gap.key.substr(kArguments.size()));
    }
    ++place;
  }
  return p;
}

/// Reads the time as the importer did, including numbers in quotes.
int64_t DocumentEvents::timeOf(SourceGap kind, int64_t value) const {
  const int64_t unit = unitNs();
  int64_t ns = 0;
  switch (kind) {
    case SourceGap::kInteger:
      return __builtin_mul_overflow(value, unit, &ns) ? 0 : ns;
    case SourceGap::kDecimal:
      return unit == 1 ? (value + (value < 0 ? -500 : 500)) / 1000 : value;
    default:
      (void)import::JsonToken{.raw = unquoted(textAt(value)), .text = true}.nanoseconds(unit, ns);
      return ns;
  }
}

/// Each value of a counter is a track. Its name is the event's name, followed by the value's own
/// name if that differs.
bool DocumentEvents::matches(const Facts& facts) const {
  if (choice_.names.matchesEverything()) return true;
  if (facts.phase != 'C' || facts.arguments == nullptr) return choice_.names.matches(facts.name);
  for (const std::string& argument : *facts.arguments) {
    const bool same = argument == "value" || argument == facts.name;
    if (same && choice_.names.matches(facts.name)) return true;
    if (choice_.names.matches(std::string(facts.name) + " " + argument)) return true;
  }
  return false;
}

bool DocumentEvents::isWanted(const Facts& facts) const {
  if (facts.phase == 0 || facts.phase == 'M') return true;
  if (!choice_.counters && facts.phase == 'C') return false;
  const bool arrow = facts.phase == 's' || facts.phase == 't' || facts.phase == 'f';
  if (!choice_.flows && arrow) return false;
  return (!facts.timed || selection_.instant(facts.time_ns)) && matches(facts);
}

bool DocumentEvents::takeText(std::string_view event) const {
  std::string text(event);
  text.append(import::kJsonPadding, '\0');
  import::JsonWalker walker({text.data(), event.size()});
  Facts facts;
  std::string name;
  std::vector<std::string> arguments;
  if (!walker.enter('{')) return true;
  for (std::string_view key; walker.member(key);) {
    if (key == "args" && walker.peek() == '{') {
      (void)walker.enter('{');
      for (std::string_view argument; walker.member(argument);) {
        arguments.emplace_back(argument);
        (void)walker.value();
      }
      continue;
    }
    const import::JsonToken token = walker.value();
    if (key == "ph" && token.text && token.raw.size() == 1) facts.phase = token.raw[0];
    if (key == "ts") {
      facts.timed = token.nanoseconds(unitNs(), facts.time_ns);
    }
    std::string room;
    if (key == "name" && token.text) name = textOf(token, room);
  }
  facts.name = name;
  facts.arguments = &arguments;
  return walker.failed() || isWanted(facts);
}

bool DocumentEvents::take(StringId id, const SourceShape& shape, std::span<const int64_t> kept) {
  if (selection_.everything() && choice_.everything()) return true;
  const ValuePositions& p = positionsOf(id, shape);
  if (p.whole && kept.size() == 1) return takeText(textAt(kept[0]));
  Facts facts{.phase = p.phase, .arguments = &p.arguments};
  if (p.time < kept.size()) {
    facts.timed = true;
    facts.time_ns = timeOf(p.time_kind, kept[p.time]);
  }
  if (p.name < kept.size() &&
      (p.name_kind == SourceGap::kText || p.name_kind == SourceGap::kJson)) {
    facts.name = unquoted(textAt(kept[p.name]));
  }
  return isWanted(facts);
}

}  // namespace tracesmith
