// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/event_shapes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace tracesmith::import {
namespace {

// Limits the tree for documents whose events never repeat.
constexpr size_t kMostEdges = 1u << 16;
constexpr size_t kMostEdgesOfNode = 64;
constexpr size_t kMostShapeBytes = 16u << 10;
constexpr size_t kMostValues = 1000;
constexpr size_t kLongestConstant = 64;

EventField fieldOf(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, EventField>, 51> kFields = {{
      {"ts", EventField::kTime},
      {"dur", EventField::kDuration},
      {"name", EventField::kName},
      {"cat", EventField::kCategory},
      {"pid", EventField::kProcess},
      {"tid", EventField::kThread},
      {"id", EventField::kId},
      {"bind_id", EventField::kBindId},
      {"flow_in", EventField::kFlowIn},
      {"flow_out", EventField::kFlowOut},
      {"args.correlation", EventField::kArgCorrelation},
      {"args.device", EventField::kArgDevice},
      {"args.context", EventField::kArgContext},
      {"args.stream", EventField::kArgStream},
      {"args.bytes", EventField::kArgBytes},
      {"args.fromDevice", EventField::kArgFromDevice},
      {"args.toDevice", EventField::kArgToDevice},
      {"args.grid", EventField::kArgGrid},
      {"args.block", EventField::kArgBlock},
      {"args.shared memory", EventField::kArgSharedMemory},
      {"args.registers per thread", EventField::kArgRegisters},
      {"args.name", EventField::kArgName},
      {"args.Addr", EventField::kArgAddress},
      {"args.Device Type", EventField::kArgDeviceType},
      {"args.Device Id", EventField::kArgDeviceId},
      // The event that a wait is for.
      {"args.wait_on_stream", EventField::kArgWaitStream},
      {"args.wait_on_cuda_event_record_corr_id", EventField::kArgRecordCorrelation},
      // Ascend and MetaX (chrome_dialects.hpp).
      {"args.Task Type", EventField::kArgTaskType},
      {"args.Stream Id", EventField::kArgStream},
      {"args.Physic Stream Id", EventField::kArgStream},
      {"args.connection_id", EventField::kArgCorrelation},
      {"args.level", EventField::kArgLevel},
      {"args.Mode", EventField::kArgMode},
      {"args.mem", EventField::kArgMemory},
      {"args.labels", EventField::kArgLabels},
      {"args.size(B)", EventField::kArgBytes},
      // The operator's ids (execution_trace_join.hpp).
      {"args.External id", EventField::kArgExternalId},
      {"args.external id", EventField::kArgExternalId},
      {"args.Record function id", EventField::kArgRecordFunction},
      {"args.Sequence number", EventField::kArgSequenceNumber},
      {"args.Fwd thread id", EventField::kArgForwardThread},
      // What PyTorch says about collectives (chrome_collectives.hpp).
      {"args.Collective name", EventField::kArgCollective},
      {"args.dtype", EventField::kArgDataType},
      {"args.In msg nelems", EventField::kArgInElements},
      {"args.Out msg nelems", EventField::kArgOutElements},
      {"args.Process Group Name", EventField::kArgGroupName},
      {"args.Process Group Description", EventField::kArgGroupDescription},
      {"args.Process Group Ranks", EventField::kArgGroupRanks},
      {"args.Group size", EventField::kArgGroupSize},
      {"args.Rank", EventField::kArgRank},
      {"args.Seq", EventField::kArgCollectiveSequence},
  }};
  for (const auto& [name, field] : kFields) {
    if (name == key) return field;
  }
  if (key == "args.Bytes") return EventField::kArgBytes;  // Kineto's memory events
  return EventField::kNone;
}

}  // namespace

const JsonToken ChromeEvent::kMissing;

/// Whether a value may follow here. An edge may be a prefix of another one: up to spaces before the
/// value, or up to the brace of the arguments.
bool EventShapes::fits(const Edge& edge, const char* value, const char* end) {
  if (edge.to < 0) return true;
  if (value >= end) return false;
  if (*value == ' ' || *value == '\n' || *value == '\r' || *value == '\t') return false;
  return !edge.before_arguments || *value != '{';
}

JsonFault EventShapes::parse(const char*& at, const char* end, ChromeEvent& event,
                             JsonMending* mended) {
  const char* p = at;
  event.values.clear();
  std::vector<Edge>* edges = &first_;
  for (;;) {
    Edge* edge = nullptr;
    for (size_t i = 0; i < edges->size(); ++i) {
      Edge& e = (*edges)[i];
      if (end - p < static_cast<std::ptrdiff_t>(e.text.size()) ||
          std::memcmp(p, e.text.data(), e.text.size()) != 0 || !fits(e, p + e.text.size(), end)) {
        continue;
      }
      if (i > 0) std::swap(e, (*edges)[i - 1]);  // move frequent entries towards the front
      edge = &(*edges)[i > 0 ? i - 1 : 0];
      break;
    }
    if (edge == nullptr) return learn(at, end, event, mended);
    p += edge->text.size();
    if (edge->to < 0) {
      event.shape = &shapes_[static_cast<size_t>(-1 - edge->to)];
      break;
    }
    JsonToken& token = event.values.emplace_back();
    if (scanValue(p, end, token, mended) != JsonFault::kNone) return learn(at, end, event, mended);
    edges = &nodes_[static_cast<size_t>(edge->to)][static_cast<size_t>(token.type)];
  }
  event.raw = {at, static_cast<size_t>(p - at)};
  at = p;
  return JsonFault::kNone;
}

/// Parses an event of unknown shape.
class EventShapes::Learner {
 public:
  Learner(const char*& at, const char* end, JsonMending* mended)
      : at_(at), end_(end), mended_(mended), piece_(at) {}

  JsonFault event() {
    if (at_ >= end_) return JsonFault::kIncomplete;
    if (*at_ != '{') return JsonFault::kSyntax;
    ++at_;
    if (const JsonFault fault = members(false); fault != JsonFault::kNone) return fault;
    shape.between.emplace_back(piece_, at_);
    shape.place.fill(-1);
    for (size_t i = 0; i < shape.values.size() && i < INT16_MAX; ++i) {
      const EventField field = shape.values[i].field;
      if (field != EventField::kNone) {
        shape.place[static_cast<size_t>(field)] = static_cast<int16_t>(i);
      }
    }
    return JsonFault::kNone;
  }

  EventShape shape;
  std::vector<JsonToken> tokens;
  bool constant = true;  ///< whether all required parts of the shape are constant

 private:
  bool next() {
    at_ = skipSpaces(at_, end_);
    return at_ < end_;
  }

  JsonFault members(bool arguments) {
    if (!next()) return JsonFault::kIncomplete;
    if (*at_ == '}') {
      ++at_;
      return JsonFault::kNone;
    }
    for (;;) {
      if (const JsonFault fault = member(arguments); fault != JsonFault::kNone) return fault;
      if (!next()) return JsonFault::kIncomplete;
      const char c = *at_;
      if (c != '}' && c != ',') return JsonFault::kSyntax;
      ++at_;
      if (c == '}') return JsonFault::kNone;
      if (!next()) return JsonFault::kIncomplete;
    }
  }

  JsonFault member(bool argument) {
    if (*at_ != '"') return JsonFault::kSyntax;
    JsonToken token;
    if (const JsonFault fault = scanText(at_, end_, token, mended_); fault != JsonFault::kNone) {
      return fault;
    }
    std::string key = argument ? "args." : "";
    key += token.raw;
    if (!next()) return JsonFault::kIncomplete;
    if (*at_ != ':') return JsonFault::kSyntax;
    ++at_;
    if (!next()) return JsonFault::kIncomplete;
    if (key == "args" && *at_ == '{') {
      ++at_;
      return members(true);
    }
    const char* const value = at_;
    token = {};
    if (const JsonFault fault = scanValue(at_, end_, token, mended_); fault != JsonFault::kNone) {
      return fault;
    }
    if (key == "ph" || key == "cat") {
      if (token.type == JsonType::kText && !token.escaped && token.raw.size() <= kLongestConstant) {
        if (key == "cat") shape.category = token.raw;
        if (key == "ph") shape.phase = token.raw.size() == 1 ? token.raw[0] : '\0';
        return JsonFault::kNone;
      }
      constant = false;
    }
    shape.between.emplace_back(piece_, value);
    piece_ = at_;
    shape.values.push_back({key, fieldOf(key), token.type, token.text, argument});
    tokens.push_back(token);
    return JsonFault::kNone;
  }

  const char*& at_;
  const char* end_;
  JsonMending* mended_;
  const char* piece_;  // start of the current text between values
};

JsonFault EventShapes::learn(const char*& at, const char* end, ChromeEvent& event,
                             JsonMending* mended) {
  const char* const begin = at;
  Learner learner(at, end, mended);
  if (const JsonFault fault = learner.event(); fault != JsonFault::kNone) return fault;
  event.values = std::move(learner.tokens);
  event.raw = {begin, static_cast<size_t>(at - begin)};
  event.shape = nullptr;
  if (learner.constant && mended == nullptr) event.shape = keep(learner.shape);
  if (event.shape == nullptr) {
    unknown_ = std::move(learner.shape);
    event.shape = &unknown_;
  }
  return JsonFault::kNone;
}

/// Stores the shape, sharing prefixes with others. nullptr: there are too many.
const EventShape* EventShapes::keep(const EventShape& shape) {
  size_t bytes = 0;
  for (const std::string& text : shape.between) bytes += text.size();
  if (bytes > kMostShapeBytes || shape.values.size() > kMostValues ||
      edges_ + shape.between.size() > kMostEdges) {
    return nullptr;
  }
  std::vector<Edge>* edges = &first_;
  for (size_t i = 0; i < shape.between.size(); ++i) {
    const bool last = i + 1 == shape.between.size();
    auto edge = std::find_if(edges->begin(), edges->end(),
                             [&](const Edge& e) { return e.text == shape.between[i]; });
    if (edge == edges->end()) {
      if (edges->size() >= kMostEdgesOfNode) return nullptr;
      ++edges_;
      edge = edges->insert(edge, {shape.between[i], 0, !last && shape.values[i].key == "args"});
      if (last) {
        edge->to = -1 - static_cast<int32_t>(shapes_.size());
        shapes_.push_back(shape);
        shapes_.back().id = static_cast<uint32_t>(shapes_.size() - 1);
      } else {
        edge->to = static_cast<int32_t>(nodes_.size());
        nodes_.emplace_back();
      }
    }
    if (last) return &shapes_[static_cast<size_t>(-1 - edge->to)];
    edges = &nodes_[static_cast<size_t>(edge->to)][static_cast<size_t>(shape.values[i].type)];
  }
  return nullptr;
}

}  // namespace tracesmith::import
