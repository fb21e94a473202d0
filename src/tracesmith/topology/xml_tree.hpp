// SPDX-License-Identifier: Apache-2.0
// A small XML document as a tree of elements, for files of a machine's topology.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::topology {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  ///< of the element itself, without that of its children
  std::vector<XmlElement> children;
  int line = 0;

  /// An attribute's value; empty if there is none.
  std::string_view operator[](std::string_view attribute) const;
};

/// The outermost element. Refuses entities, and more elements or levels than such a file has.
Result<XmlElement> readXml(std::string_view text, const std::string& where);

}  // namespace tracesmith::topology
