// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/execution_trace/execution_trace_join.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "tracesmith/import/json/json_list.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kBeginning = 12;     // consecutive nodes that must match at the start of a thread
constexpr size_t kSkippedNodes = 16;  // nodes before those that only the execution trace may have
constexpr size_t kMostPositions = 256;  // candidate positions of a start
// Consecutive operators (or nodes) that the other side may lack.
constexpr size_t kFarthest = 256;
constexpr size_t kSure = 4;  // names that must match after such a gap
// Fraction of a thread's nodes to match; else it is another thread.
constexpr double kEnough = 0.8;

int64_t integerOf(simdjson::dom::object object, const char* key) {
  int64_t value = 0;
  return object[key].get(value) ? 0 : value;
}

}  // namespace

Status ExecutionTraceJoin::read(const std::string& path) {
  TS_TRY(const std::unique_ptr<ByteSource> source, ByteSource::open(path));
  JsonList list(*source, {"nodes"});
  simdjson::dom::parser parser;
  list.run(
      [&](std::string_view name, std::string_view raw) {
        if (name == "pid") processes_.emplace_back(raw, path);
      },
      [&](std::string_view raw, uint64_t offset) {
        simdjson::dom::object object;
        std::string_view name;
        if (parser.parse(raw.data(), raw.size()).get(object) || object["name"].get(name)) {
          damage.add(offset, raw.size(), "a node of the execution trace is not JSON");
          return true;
        }
        Node node = {.record_function = integerOf(object, "rf_id"),
                     .thread = integerOf(object, "tid"),
                     .name = std::string(name),
                     .raw = std::string(raw)};
        simdjson::dom::array attributes;
        if (!object["attrs"].get(attributes)) {
          for (const simdjson::dom::element element : attributes) {
            simdjson::dom::object attribute;
            std::string_view key;
            if (element.get(attribute) || attribute["name"].get(key)) continue;
            if (key == "rf_id") node.record_function = integerOf(attribute, "value");
            if (key == "tid") node.thread = integerOf(attribute, "value");
          }
        }
        if (node.record_function != 0) {
          by_record_function_.emplace(node.record_function, nodes_.size());
        }
        nodes_.push_back(std::move(node));
        return true;
      });
  for (const SourceDamage& d : list.damage) damage.add(d.offset, d.bytes, d.reason);
  if (!list.found()) {
    return fail(
        ErrorCode::kUnsupported,
        "is not an execution trace, the only kind of file that can follow a profile; profiles of "
        "several ranks become one trace each",
        path);
  }
  return {};
}

uint32_t ExecutionTraceJoin::nameNumber(std::string_view name) {
  return names_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size())).first->second;
}

void ExecutionTraceJoin::addOperator(std::string_view process, std::string_view thread,
                                     int64_t external_id, int64_t record_function,
                                     std::string_view name) {
  if (external_id == 0 && record_function == 0) return;  // not an operator
  if (seen_processes_.find(process) == seen_processes_.end()) seen_processes_.emplace(process);
  if (record_function != 0) record_functions_ = true;
  if (external_id == 0) return;
  auto it = operators_.find(thread);
  if (it == operators_.end()) it = operators_.emplace(std::string(thread), 0).first;
  it->second.push_back({external_id, nameNumber(name)});
}

/// Aligns both sequences from a matching position on, skipping entries that only one of them has.
std::vector<std::pair<size_t, size_t>> ExecutionTraceJoin::walk(
    const std::vector<uint32_t>& nodes, const std::vector<Operator>& operators, size_t node,
    size_t op) {
  std::vector<std::pair<size_t, size_t>> pairs;
  const auto agree = [&](size_t n, size_t o) {
    for (size_t i = 0; i < kSure; ++i) {
      if (n + i >= nodes.size()) return i > 0;
      if (o + i >= operators.size() || nodes[n + i] != operators[o + i].name) return false;
    }
    return true;
  };
  while (node < nodes.size() && op < operators.size()) {
    if (nodes[node] == operators[op].name) {
      pairs.emplace_back(node++, op++);
      continue;
    }
    bool found = false;
    for (size_t gap = 1; gap <= kFarthest && !found; ++gap) {
      if (agree(node, op + gap)) {
        op += gap;
        found = true;
      } else if (agree(node + gap, op)) {
        node += gap;
        found = true;
      } else if (agree(node + gap, op + gap)) {
        node += gap;
        op += gap;
        found = true;
      }
    }
    if (!found) break;
  }
  return pairs;
}

ExecutionTraceJoin::Match ExecutionTraceJoin::matchNodes(
    const std::vector<uint32_t>& nodes, const std::vector<Operator>& operators) const {
  Match best;
  size_t second = 0;
  size_t places = 0;
  const size_t length = std::min(kBeginning, nodes.size());
  for (size_t skipped = 0;
       skipped <= kSkippedNodes && skipped + length <= nodes.size() && best.pairs.empty();
       ++skipped) {
    for (size_t o = 0; o + length <= operators.size(); ++o) {
      size_t same = 0;
      while (same < length && nodes[skipped + same] == operators[o + same].name) ++same;
      if (same < length) continue;
      if (++places > kMostPositions) {
        best.doubtful = true;
        return best;
      }
      auto pairs = walk(nodes, operators, skipped, o);
      if (pairs.size() > best.pairs.size()) std::swap(pairs, best.pairs);
      second = std::max(second, pairs.size());
    }
  }
  best.doubtful = second > 0 && second >= best.pairs.size();
  return best;
}

Status ExecutionTraceJoin::align() {
  for (const auto& [pid, path] : processes_) {
    if (seen_processes_.empty() || seen_processes_.find(pid) != seen_processes_.end()) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("is of process {}, but the profile is of {}: these are different ranks",
                            pid, *seen_processes_.begin()),
                path);
  }
  if (record_functions_) return {};  // exact ids, no alignment needed
  for (auto& [thread, list] : operators_) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Operator& a, const Operator& b) { return a.id < b.id; });
  }
  std::map<int64_t, std::vector<size_t>> threads;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].record_function != 0) threads[nodes_[i].thread].push_back(i);
  }
  for (auto& [thread, order] : threads) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return nodes_[a].record_function < nodes_[b].record_function;
    });
    std::vector<uint32_t> names;
    for (const size_t i : order) names.push_back(nameNumber(nodes_[i].name));
    Match best;
    const std::vector<Operator>* on = nullptr;
    bool doubtful = false;
    for (const auto& [other, list] : operators_) {
      Match match = matchNodes(names, list);
      if (on != nullptr && match.pairs.size() == best.pairs.size() && !match.pairs.empty()) {
        doubtful = true;
      }
      if (match.pairs.size() > best.pairs.size() || match.doubtful) {
        doubtful = match.doubtful;
        best = std::move(match);
        on = &list;
      }
    }
    const bool enough =
        static_cast<double>(best.pairs.size()) >= kEnough * static_cast<double>(names.size());
    if (on == nullptr || doubtful || !enough) {
      ++uncertain_threads_;
      continue;
    }
    for (const auto& [node, op] : best.pairs) by_external_id_[(*on)[op].id] = order[node];
  }
  return {};
}

std::string_view ExecutionTraceJoin::nodeOf(int64_t external_id, int64_t record_function,
                                            std::string_view name) {
  size_t at = nodes_.size();
  if (record_functions_) {
    const auto it = by_record_function_.find(record_function);
    if (record_function != 0 && it != by_record_function_.end()) at = it->second;
  } else if (const auto it = by_external_id_.find(external_id); it != by_external_id_.end()) {
    at = it->second;
  }
  if (at == nodes_.size() || nodes_[at].name != name) return {};
  if (!nodes_[at].used) ++joined_;
  nodes_[at].used = true;
  return nodes_[at].raw;
}

std::string ExecutionTraceJoin::rest() const {
  std::string list = "[";
  for (const Node& node : nodes_) {
    if (!node.used) list += (list.size() > 1 ? "," : "") + node.raw;
  }
  return list + "]";
}

std::string ExecutionTraceJoin::describeUnjoined() const {
  if (joined_ == nodes_.size()) return {};
  std::string text = fmt::format("{} of {} nodes of the execution trace belong to no operator here",
                                 nodes_.size() - joined_, nodes_.size());
  if (uncertain_threads_ > 0) {
    text += fmt::format(
        " ({} threads match nowhere, or in several places: the profile has no Record function ids)",
        uncertain_threads_);
  }
  return text;
}

}  // namespace tracesmith::import
