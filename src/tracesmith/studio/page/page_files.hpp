// SPDX-License-Identifier: Apache-2.0
// The files of Studio's page, which are inside the program: what script/studio made of studio/.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tracesmith::studio {

struct PageFile {
  std::string_view path;  ///< "/studio.js"
  std::string_view type;  ///< "text/javascript; charset=utf-8"
  std::string_view gzip;  ///< content
};

/// Empty in a build without the page.
std::span<const PageFile> pageFiles();
/// The content of a file of the page, unpacked; empty if there is none.
std::string pageFile(std::string_view path);

}  // namespace tracesmith::studio
