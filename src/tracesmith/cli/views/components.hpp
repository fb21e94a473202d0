// SPDX-License-Identifier: Apache-2.0
// What this build was made from: the commit, and the libraries of others with their licences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith::cli {

struct Component {
  enum class Place { kShared, kInside, kPage };

  std::string name;
  std::string version;  ///< that it was built with
  std::string licence;  ///< as SPDX writes it
  std::string url;
  /// A shared library of the system; in the command itself; in Studio's page.
  Place place = Place::kInside;
};

std::vector<Component> components();
std::string_view toString(Component::Place place);

/// "85d497df…" and, if files differed from it, ", changed"; "unknown".
std::string_view builtCommit();

/// The text of `version --long`.
std::string componentsText();
/// A list of the components for other programs: SPDX 2.3.
void writeSpdx(JsonWriter& json);

}  // namespace tracesmith::cli
