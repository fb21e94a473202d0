// SPDX-License-Identifier: Apache-2.0
// Imports Chakra's protobuf (schema/protobuf/et_def.proto): length-prefixed messages, a
// GlobalMetadata and then the nodes.
#include <fmt/format.h>

#include <bit>
#include <memory>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/execution_trace/execution_nodes.hpp"
#include "tracesmith/import/execution_trace/execution_trace_importer.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"
#include "tracesmith/import/perfetto/perfetto_values.hpp"

namespace tracesmith::import {
namespace {

using proto::Field;

constexpr uint64_t kLargestMessage = 64u << 20;
constexpr size_t kStep = 1u << 20;
constexpr uint32_t kBytes = 2;

namespace node {
constexpr uint32_t kId = 1, kName = 2, kType = 3, kControlDeps = 4, kDataDeps = 5, kStart = 6,
                   kDuration = 7, kInputs = 8, kOutputs = 9, kAttribute = 10;
}
namespace attribute {
constexpr uint32_t kName = 1, kDoc = 2, kDouble = 3, kFloat = 5, kInt32 = 7, kInt64 = 9,
                   kUint32 = 11, kUint64 = 13, kSint32 = 15, kSint64 = 17, kFixed32 = 19,
                   kFixed64 = 21, kSfixed32 = 23, kSfixed64 = 25, kBool = 27, kText = 29, kRaw = 31;
}

std::string_view typeName(uint32_t field) {
  switch (field) {
    case attribute::kDouble:
      return "double";
    case attribute::kFloat:
      return "float";
    case attribute::kInt32:
      return "int32";
    case attribute::kInt64:
      return "int64";
    case attribute::kUint32:
      return "uint32";
    case attribute::kUint64:
      return "uint64";
    case attribute::kSint32:
      return "sint32";
    case attribute::kSint64:
      return "sint64";
    case attribute::kFixed32:
      return "fixed32";
    case attribute::kFixed64:
      return "fixed64";
    case attribute::kSfixed32:
      return "sfixed32";
    case attribute::kSfixed64:
      return "sfixed64";
    case attribute::kBool:
      return "bool";
    case attribute::kText:
      return "string";
    case attribute::kRaw:
      return "bytes";
    default:
      return "";
  }
}

/// An AttributeProto as "name:type".
struct Attribute {
  std::string_view name;
  std::string_view text;
  int64_t integer = 0;
  bool is_integer = false;
};

class ChakraReader {
 public:
  ChakraReader(TraceBuilder& builder, ExecutionNodes& nodes) : builder_(builder), nodes_(nodes) {}

  void metadata(std::string_view bytes);
  /// Returns false if it is not a node.
  bool node(std::string_view bytes);

 private:
  Attribute attribute(std::string_view bytes, KeptEvent* kept);
  void communication(const Attribute& a, NodeCommunication& to);

  TraceBuilder& builder_;
  ExecutionNodes& nodes_;
};

Attribute ChakraReader::attribute(std::string_view bytes, KeptEvent* kept) {
  Attribute a;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == attribute::kName) a.name = f.bytes;
  });
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == attribute::kName) return;
    const std::string_view type = typeName(f.number);
    const std::string key = std::string(a.name) + ":" + std::string(type);
    switch (f.number) {
      case attribute::kDoc:
        if (kept != nullptr)
          kept->text(std::string(a.name) + ".doc_string", builder_.text(f.bytes));
        return;
      case attribute::kDouble:
        if (kept != nullptr) {
          kept->json(key, builder_.text(jsonNumber(std::bit_cast<double>(f.value))));
        }
        return;
      case attribute::kFloat:
        if (kept != nullptr) {
          const auto value = std::bit_cast<float>(static_cast<uint32_t>(f.value));
          kept->json(key, builder_.text(jsonNumber(static_cast<double>(value))));
        }
        return;
      case attribute::kText:
        a.text = f.bytes;
        if (kept != nullptr) kept->text(key, builder_.text(f.bytes));
        return;
      case attribute::kSint32:
      case attribute::kSint64:
        a.integer = unzigzag(f.value);
        break;
      case attribute::kInt32:
      case attribute::kSfixed32:
        a.integer = static_cast<int32_t>(f.value);
        break;
      default:
        if (type.empty() || f.wire_type == kBytes) {  // lists, and unknown types
          if (kept != nullptr) keepUnknownField(f, std::string(a.name) + ".", builder_, *kept);
          return;
        }
        a.integer = static_cast<int64_t>(f.value);
    }
    a.is_integer = true;
    if (kept != nullptr) kept->integer(key, a.integer);
  });
  return a;
}

void ChakraReader::communication(const Attribute& a, NodeCommunication& to) {
  if (a.name == "pg_name") to.group = a.text.empty() ? StringId::kNone : builder_.text(a.text);
  if (!a.is_integer) return;
  if (a.name == "comm_type") to.type = a.integer;
  if (a.name == "comm_size") to.bytes = positive(a.integer);
  if (a.name == "comm_src") to.source = a.integer;
  if (a.name == "comm_dst") to.destination = a.integer;
  if (a.name == "comm_tag") to.tag = a.integer;
}

void ChakraReader::metadata(std::string_view bytes) {
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == 1) builder_.setMetadata("source.version", f.bytes);
    if (f.number != 2 || f.wire_type != kBytes) return;
    const Attribute a = attribute(f.bytes, nullptr);
    builder_.setMetadata("source." + std::string(a.name),
                         a.is_integer ? std::to_string(a.integer) : std::string(a.text));
    if (a.name == "pid" && a.is_integer) nodes_.setPid(a.integer);
  });
}

bool ChakraReader::node(std::string_view bytes) {
  ExecutionNode n;
  KeptEvent attributes;
  const bool good = proto::forEachField(bytes, [&](const Field& f) {
    const auto list = [&](std::vector<uint64_t>& to) {
      for (const uint64_t id : packedVarints(f.wire_type, f.value, f.bytes)) to.push_back(id);
    };
    switch (f.number) {
      case node::kId:
        n.id = f.value;
        break;
      case node::kName:
        n.name = builder_.text(f.bytes);
        break;
      case node::kType:
        n.type = f.value <= 7 ? NodeType(f.value) : NodeType::kInvalid;
        if (f.value > 7) n.kept.integer("type", static_cast<int64_t>(f.value));
        break;
      case node::kControlDeps:
        list(n.control_deps);
        break;
      case node::kDataDeps:
        list(n.data_deps);
        break;
      case node::kStart:
      case node::kDuration: {
        const int64_t ns = microsecondsInNs(static_cast<int64_t>(f.value));
        if (f.number == node::kStart) n.start_ns = ns;
        if (f.number == node::kDuration) n.duration_ns = ns;
        n.kept.integer(f.number == node::kStart ? "start_time_micros" : "duration_micros",
                       static_cast<int64_t>(f.value));
        break;
      }
      case node::kInputs:
      case node::kOutputs: {
        const char* const which = f.number == node::kInputs ? "inputs." : "outputs.";
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number < 1 || g.number > 3) return keepUnknownField(g, which, builder_, n.kept);
          constexpr std::string_view kParts[] = {"values", "shapes", "types"};
          n.kept.text(which + std::string(kParts[g.number - 1]), builder_.text(g.bytes));
        });
        break;
      }
      case node::kAttribute: {
        const Attribute a = attribute(f.bytes, &attributes);
        if (a.name == "is_cpu_op") n.on_device = a.integer == 0;
        if (a.name == "tid" || a.name == "stream") n.tid = a.integer;
        if (a.name == "tensor_size" || a.name == "comm_size") {
          n.bytes = static_cast<uint64_t>(a.integer);
        }
        communication(a, n.communication);
        break;
      }
      default:
        keepUnknownField(f, "", builder_, n.kept);
    }
  });
  if (!good) return false;
  n.kept.integer("id", static_cast<int64_t>(n.id));
  n.kept.text("name", n.name);
  n.kept.text("node_type", builder_.text(toString(n.type)));
  const auto ids = [&](const char* key, const std::vector<uint64_t>& list) {
    std::string text = "[";
    for (const uint64_t id : list) text += (text.size() > 1 ? "," : "") + std::to_string(id);
    n.kept.json(key, builder_.json(text + "]"));
  };
  ids("ctrl_deps", n.control_deps);
  ids("data_deps", n.data_deps);
  n.kept.append("attr", attributes);
  nodes_.add(n);
  return true;
}

Result<ImportCounts> runChakra(const ImportInput& input, TraceWriter& writer, Trace facts) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  TraceBuilder builder(writer, std::move(facts));
  ExecutionNodes nodes(builder, 0);
  ChakraReader reader(builder, nodes);
  ImportCounts counts;
  DamageLog damage;
  Buffer<uint8_t> window;
  size_t at = 0;
  size_t end = 0;
  uint64_t offset = 0;  // file position of the window's first byte
  bool eof = false;
  // Makes `bytes` available from `at` on; returns false if the file ends before.
  const auto need = [&](size_t bytes) {
    while (end - at < bytes && !eof) {
      std::memmove(window.data(), window.data() + at, end - at);
      offset += at;
      end -= at;
      at = 0;
      if (window.size() < end + kStep) window.resize(std::max(window.size() * 2, 2 * kStep));
      const Result<size_t> n = source->read({window.data() + end, window.size() - end});
      if (!n) damage.add(offset + end, 0, n.error().message);
      eof = !n || *n == 0;
      end += n ? *n : 0;
    }
    return end - at >= bytes;
  };
  window.resize(kStep);
  bool first = true;
  const auto damaged = [&](const char* why) { damage.add(offset + at, end - at, why); };
  while (need(1) && !builder.failed()) {
    need(kMaxVarintBytes);
    ByteReader length_reader({window.data() + at, end - at});
    const size_t before = length_reader.remaining();
    const uint64_t length = length_reader.varint();
    const size_t prefix = before - length_reader.remaining();
    if (!length_reader.ok() || length > kLargestMessage) {
      damaged("a message of impossible length; the rest cannot be read");
      break;
    }
    if (!need(prefix + length)) {
      damaged("the file ends within a message");
      break;
    }
    const std::string_view message(reinterpret_cast<const char*>(window.data()) + at + prefix,
                                   length);
    at += prefix + length;
    if (std::exchange(first, false)) {
      reader.metadata(message);
    } else if (!reader.node(message)) {
      damage.add(offset + at - length, length, "a node that is not protobuf", 1);
    }
  }
  nodes.finish();
  counts.bytes = offset + end;
  counts.events = nodes.nodes();
  counts.rows = nodes.rows();
  counts.others = nodes.nodes() - nodes.rows();
  std::string lost = nodes.describeNodesWithoutTable();
  if (!lost.empty()) counts.notes.push_back(lost);
  nodes.spans().tell(counts.notes, lost);
  counts.damage = damage.places();
  if (!damage.empty()) lost += (lost.empty() ? "" : "; ") + damage.summary();
  TS_CHECK_OK(builder.finish(counts, lost));
  return counts;
}

/// Requires a message with named attributes. If the head contains a second message, that must be a
/// node.
bool recognisesChakra(const ImportInput& input) {
  ByteReader in(asBytes(std::string_view(input.head)));
  const uint64_t length = in.varint();
  if (!in.ok() || length < 2 || length > kLargestMessage || length > in.remaining()) return false;
  bool attributes = false;
  bool others = false;
  const bool good = proto::forEachField(asText(in.take(length)), [&](const Field& f) {
    if (f.wire_type != kBytes || f.number > 2) others = true;
    if (f.number != 2 || f.wire_type != kBytes) return;
    bool named = false;
    others |= !proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == 1 && g.wire_type == kBytes && !g.bytes.empty()) named = true;
      if (g.number == 0 || g.number > 32) others = true;
    });
    attributes |= named;
  });
  if (!good || others || !attributes) return false;
  if (in.remaining() == 0) return true;
  const uint64_t second = in.varint();
  if (!in.ok() || second > in.remaining()) return in.remaining() < kLargestMessage;
  bool named = false;
  return proto::forEachField(asText(in.take(second)),
                             [&](const Field& f) {
                               if (f.number == node::kName && f.wire_type == kBytes) named = true;
                             }) &&
         named;
}

}  // namespace

constinit const Importer kChakraImporter = {"Chakra", "", recognisesChakra, runChakra};

}  // namespace tracesmith::import
