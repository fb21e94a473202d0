// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/arrow/arrow_table.hpp"

#include <cerrno>
#include <memory>
#include <new>

namespace tracesmith {
namespace {

using Columns = std::vector<std::pair<std::string, ColumnArray>>;

/// A schema with everything it refers to.
struct SchemaNode {
  std::string name;
  std::string format;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary = {};

  ~SchemaNode() {
    for (ArrowSchema& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }
};

void moveTo(std::unique_ptr<SchemaNode> node, int64_t flags, ArrowSchema& out) {
  for (ArrowSchema& child : node->children) node->pointers.push_back(&child);
  out = {};
  out.format = node->format.c_str();
  out.name = node->name.c_str();
  out.flags = flags;
  out.n_children = static_cast<int64_t>(node->children.size());
  out.children = node->pointers.data();
  out.dictionary = node->dictionary.release != nullptr ? &node->dictionary : nullptr;
  out.release = [](ArrowSchema* schema) {
    delete static_cast<SchemaNode*>(schema->private_data);
    schema->release = nullptr;
  };
  out.private_data = node.release();
}

/// An array with everything it refers to.
struct ArrayNode {
  std::shared_ptr<const Columns> owner;
  const void* buffers[3] = {};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary = {};

  ~ArrayNode() {
    // Arrays taken by the consumer have no release function any more.
    for (ArrowArray& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }
};

void moveTo(std::unique_ptr<ArrayNode> node, uint64_t rows, uint64_t nulls, int64_t buffers,
            ArrowArray& out) {
  for (ArrowArray& child : node->children) node->pointers.push_back(&child);
  out = {};
  out.length = static_cast<int64_t>(rows);
  out.null_count = static_cast<int64_t>(nulls);
  out.n_buffers = buffers;
  out.buffers = node->buffers;
  out.n_children = static_cast<int64_t>(node->children.size());
  out.children = node->pointers.data();
  out.dictionary = node->dictionary.release != nullptr ? &node->dictionary : nullptr;
  out.release = [](ArrowArray* array) {
    delete static_cast<ArrayNode*>(array->private_data);
    array->release = nullptr;
  };
  out.private_data = node.release();
}

struct TableStream {
  uint64_t rows = 0;
  std::shared_ptr<const Columns> columns;
  bool given = false;

  void schema(ArrowSchema& out) const {
    auto root = std::make_unique<SchemaNode>();
    root->format = "+s";
    root->children.resize(columns->size());
    for (size_t i = 0; i < columns->size(); ++i) {
      const auto& [name, array] = (*columns)[i];
      auto node = std::make_unique<SchemaNode>();
      node->name = name;
      node->format = std::string(1, array.format);
      if (array.is_text) {
        auto texts = std::make_unique<SchemaNode>();
        texts->format = "U";
        moveTo(std::move(texts), 0, node->dictionary);
      }
      const int64_t ordered = array.is_text ? ARROW_FLAG_DICTIONARY_ORDERED : 0;
      moveTo(std::move(node), ARROW_FLAG_NULLABLE | ordered, root->children[i]);
    }
    moveTo(std::move(root), 0, out);
  }

  void batch(ArrowArray& out) {
    out = {};
    if (given) return;  // end of stream: an array without a release function
    static constexpr char kNothing[8] = {};
    auto root = std::make_unique<ArrayNode>();
    root->owner = columns;
    root->children.resize(columns->size());
    for (size_t i = 0; i < columns->size(); ++i) {
      const ColumnArray& array = (*columns)[i].second;
      auto node = std::make_unique<ArrayNode>();
      node->owner = columns;
      node->buffers[0] = array.valid.empty() ? nullptr : array.valid.data();
      node->buffers[1] = array.data != nullptr ? array.data : kNothing;
      if (array.is_text) {
        auto texts = std::make_unique<ArrayNode>();
        texts->owner = columns;
        texts->buffers[1] = array.text_ends.data();
        texts->buffers[2] = array.texts.empty() ? kNothing : array.texts.data();
        moveTo(std::move(texts), array.text_ends.size() - 1, 0, 3, node->dictionary);
      }
      moveTo(std::move(node), array.rows, array.nulls, 2, root->children[i]);
    }
    moveTo(std::move(root), rows, 0, 1, out);
    given = true;
  }
};

TableStream& tableStreamOf(ArrowArrayStream* stream) {
  return *static_cast<TableStream*>(stream->private_data);
}

}  // namespace

void startArrowTable(uint64_t rows, std::vector<std::pair<std::string, ColumnArray>> columns,
                     ArrowArrayStream* out) {
  auto stream = std::make_unique<TableStream>();
  stream->rows = rows;
  stream->columns = std::make_shared<const Columns>(std::move(columns));
  *out = {};
  out->get_schema = [](ArrowArrayStream* s, ArrowSchema* schema) {
    try {
      tableStreamOf(s).schema(*schema);
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
    return 0;
  };
  out->get_next = [](ArrowArrayStream* s, ArrowArray* array) {
    try {
      tableStreamOf(s).batch(*array);
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
    return 0;
  };
  out->get_last_error = [](ArrowArrayStream*) -> const char* { return "out of memory"; };
  out->release = [](ArrowArrayStream* s) {
    delete static_cast<TableStream*>(s->private_data);
    s->release = nullptr;
  };
  out->private_data = stream.release();
}

}  // namespace tracesmith
