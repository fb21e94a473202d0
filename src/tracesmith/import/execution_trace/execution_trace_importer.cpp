// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/execution_trace/execution_trace_importer.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/execution_trace/execution_nodes.hpp"
#include "tracesmith/import/json/json_list.hpp"
#include "tracesmith/import/json/json_token.hpp"
#include "tracesmith/import/json/source_member.hpp"

namespace tracesmith::import {
namespace {

namespace od = simdjson::ondemand;

/// A JSON value, both in the form kept beside a row and in the form for columns.
struct Scalar {
  bool integer = false;
  bool text = false;
  int64_t number = 0;
  std::string_view words;
};

class NodeReader {
 public:
  NodeReader(TraceBuilder& builder, ExecutionNodes& nodes) : builder_(builder), nodes_(nodes) {}

  /// Returns false if `raw` is not a JSON object.
  bool node(std::string_view raw);

 private:
  bool member(std::string_view key, od::value value, ExecutionNode& node);
  bool attributes(od::array list, ExecutionNode& node);
  void meaning(std::string_view key, const Scalar& value, ExecutionNode& node);
  void communication(std::string_view key, const Scalar& value, NodeCommunication& to);
  bool keep(std::string_view key, od::value value, KeptEvent& kept, Scalar& scalar);
  static bool ids(od::value value, std::vector<uint64_t>& out);

  TraceBuilder& builder_;
  ExecutionNodes& nodes_;
  od::parser parser_;
  std::string room_;
};

bool NodeReader::keep(std::string_view key, od::value value, KeptEvent& kept, Scalar& scalar) {
  od::json_type type{};
  if (value.type().get(type)) return false;
  if (type == od::json_type::string) {
    std::string_view text;
    if (value.get_string().get(text)) return false;
    scalar = {.text = true, .words = text};
    kept.text(key, builder_.text(text));
    return true;
  }
  if (type == od::json_type::number) {
    od::number number;
    std::string_view token = value.raw_json_token();
    while (!token.empty() && static_cast<uint8_t>(token.back()) <= ' ') token.remove_suffix(1);
    const std::string as_it_is(token);
    if (value.get_number().get(number)) return false;
    if (number.is_int64()) {
      scalar = {.integer = true, .number = number.get_int64()};
      if (std::to_string(scalar.number) == as_it_is) {
        kept.integer(key, scalar.number);
        return true;
      }
    }
    kept.json(key, builder_.json(as_it_is));
    return true;
  }
  std::string_view raw;
  if (simdjson::to_json_string(value).get(raw)) return false;
  while (!raw.empty() && static_cast<uint8_t>(raw.back()) <= ' ') raw.remove_suffix(1);
  scalar.words = raw;
  kept.json(key, builder_.json(raw));
  return true;
}

bool NodeReader::ids(od::value value, std::vector<uint64_t>& out) {
  od::json_type type{};
  if (value.type().get(type)) return false;
  if (type == od::json_type::number) {
    int64_t id = 0;
    if (value.get_int64().get(id)) return false;
    out.push_back(static_cast<uint64_t>(id));
    return true;
  }
  od::array list;
  if (value.get_array().get(list)) return false;
  for (auto element : list) {
    int64_t id = 0;
    if (element.get_int64().get(id)) return false;
    out.push_back(static_cast<uint64_t>(id));
  }
  return true;
}

void NodeReader::meaning(std::string_view key, const Scalar& value, ExecutionNode& node) {
  if (key == "id" || key == "Id") {
    node.id = static_cast<uint64_t>(value.number);
  } else if ((key == "name" || key == "Name") && value.text) {
    node.name = builder_.text(value.words);
  } else if (key == "NodeType" || key == "type") {
    if (value.integer && value.number >= 0 && value.number <= 7) node.type = NodeType(value.number);
  } else if (key == "tid" && value.integer) {
    node.tid = value.number;
  } else if (key == "parent" && value.integer) {
    node.control_deps.push_back(static_cast<uint64_t>(value.number));
  } else if (key == "is_cpu_op") {
    node.on_device = value.words == "false" || (value.integer && value.number == 0);
  } else if (key == "start_time_micros" && value.integer) {
    node.start_ns = microsecondsInNs(value.number);
  } else if ((key == "duration_micros" || key == "runtime") && value.integer) {
    node.duration_ns = microsecondsInNs(value.number);
  } else {
    communication(key, value, node.communication);
  }
}

void NodeReader::communication(std::string_view key, const Scalar& value, NodeCommunication& to) {
  if (key == "pg_name" && value.text) to.group = builder_.text(value.words);
  if (!value.integer) return;
  if (key == "comm_type") to.type = value.number;
  if (key == "comm_size") to.bytes = positive(value.number);
  if (key == "comm_src") to.source = value.number;
  if (key == "comm_dst") to.destination = value.number;
  if (key == "comm_tag") to.tag = value.number;
}

/// Converts [{"name": "rf_id", "type": "uint64", "value": 4}, …] to {"rf_id:uint64": 4, …}.
bool NodeReader::attributes(od::array list, ExecutionNode& node) {
  node.kept.open("attrs");
  for (auto element : list) {
    od::object attribute;
    if (element.get_object().get(attribute)) return false;
    std::string name;
    std::string type;
    bool has_value = false;
    for (auto field : attribute) {
      std::string_view key;
      od::value value;
      if (field.unescaped_key().get(key) || field.value().get(value)) return false;
      std::string_view text;
      if (key == "name") {
        if (value.get_string().get(text)) return false;
        name = text;
      } else if (key == "type") {
        if (value.get_string().get(text)) return false;
        type = text;
      } else {  // PyTorch writes "value" last
        Scalar scalar;
        const std::string full = name + (type.empty() ? "" : ":" + type) +
                                 (key == "value" ? "" : "." + std::string(key));
        if (!keep(full, value, node.kept, scalar)) return false;
        if (key == "value") meaning(name, scalar, node);
        has_value = true;
      }
    }
    if (!has_value) node.kept.json(name, builder_.text("null"));
  }
  node.kept.close();
  return true;
}

bool NodeReader::member(std::string_view key, od::value value, ExecutionNode& node) {
  if (key == "attrs") {
    od::array list;
    return !value.get_array().get(list) && attributes(list, node);
  }
  if (key == "ctrl_deps" || key == "ctrlDeps" || key == "data_deps") {
    std::vector<uint64_t>& to = key == "data_deps" ? node.data_deps : node.control_deps;
    const size_t before = to.size();
    if (!ids(value, to)) return false;
    std::string list = "[";
    for (size_t i = before; i < to.size(); ++i) {
      list += (list.size() > 1 ? "," : "") + std::to_string(static_cast<int64_t>(to[i]));
    }
    node.kept.json(key, builder_.json(list + "]"));
    return true;
  }
  Scalar scalar;
  if (!keep(key, value, node.kept, scalar)) return false;
  meaning(key, scalar, node);
  return true;
}

bool NodeReader::node(std::string_view raw) {
  room_.assign(raw);
  room_.reserve(raw.size() + simdjson::SIMDJSON_PADDING);
  od::document document;
  if (parser_.iterate(room_.data(), room_.size(), room_.capacity()).get(document)) return false;
  od::object object;
  if (document.get_object().get(object)) return false;
  ExecutionNode node;
  for (auto field : object) {
    std::string_view key;
    od::value value;
    if (field.unescaped_key().get(key) || field.value().get(value)) return false;
    if (!member(std::string(key), value, node)) return false;
  }
  nodes_.add(node);
  return true;
}

Result<ImportCounts> runJson(const ImportInput& input, TraceWriter& writer, Trace facts,
                             std::initializer_list<std::string_view> lists) {
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  TraceBuilder builder(writer, std::move(facts));
  ExecutionNodes nodes(builder, 0);
  NodeReader reader(builder, nodes);
  ImportCounts counts;
  JsonList list(*source, lists);
  DamageLog damage;
  list.run(
      [&](std::string_view name, std::string_view raw) {
        keepSourceMember(name, raw, [&](const std::string& key, std::string_view value) {
          builder.setMetadata(key, value);
        });
        if (name == "pid") nodes.setPid(JsonToken{.raw = raw}.integer());
      },
      [&](std::string_view raw, uint64_t offset) {
        if (!reader.node(raw)) damage.add(offset, raw.size(), "a node that is not JSON", 1);
        return !builder.failed();
      });
  if (!list.found()) return fail(ErrorCode::kNotATrace, "has no list of nodes", input.path);
  nodes.finish();
  for (const SourceDamage& d : list.damage) damage.add(d.offset, d.bytes, d.reason, d.events);
  counts.damage = damage.places();
  counts.events = nodes.nodes();
  counts.rows = nodes.rows();
  counts.others = nodes.nodes() - nodes.rows();
  counts.bytes = list.bytes();
  std::string lost = nodes.describeNodesWithoutTable();
  if (!lost.empty()) {
    counts.notes.push_back(
        lost +
        (*lists.begin() == "nodes"
             ? "; to see "
               "which operators they are, name the profile of the same process and then this file"
             : "; a graph has dependencies but no times: for those, import the profile that it "
               "was created from"));
  }
  nodes.spans().tell(counts.notes, lost);
  if (!damage.empty()) lost += (lost.empty() ? "" : "; ") + damage.summary();
  TS_CHECK_OK(builder.finish(counts, lost));
  return counts;
}

bool isObject(std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && head[first] == '{';
}

bool recognisesPyTorch(const ImportInput& input) {
  const std::string_view head = std::string_view(input.head).substr(0, 4096);
  return isObject(head) && head.find("\"schema\"") != std::string_view::npos &&
         head.find("\"nodes\"") != std::string_view::npos &&
         input.head.find("\"traceEvents\"") == std::string::npos;
}
Result<ImportCounts> runPyTorch(const ImportInput& input, TraceWriter& writer, Trace facts) {
  return runJson(input, writer, std::move(facts), {"nodes"});
}

bool recognisesChakraJson(const ImportInput& input) {
  return isObject(input.head) && input.head.find("\"workload_graph\"") != std::string::npos &&
         input.head.find("\"traceEvents\"") == std::string::npos;
}
Result<ImportCounts> runChakraJson(const ImportInput& input, TraceWriter& writer, Trace facts) {
  return runJson(input, writer, std::move(facts), {"workload_graph"});
}

}  // namespace

constinit const Importer kPyTorchExecutionTraceImporter = {"PyTorch execution trace", "",
                                                           recognisesPyTorch, runPyTorch};
constinit const Importer kChakraJsonImporter = {"Chakra JSON", "", recognisesChakraJson,
                                                runChakraJson};

}  // namespace tracesmith::import
