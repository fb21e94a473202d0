// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/output/xml_text.hpp"

#include <algorithm>

#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith {

std::string escapedXml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8Length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(character.size());
    if (character == "&") {
      out += "&amp;";
    } else if (character == "<") {
      out += "&lt;";
    } else if (character == ">") {
      out += "&gt;";
    } else if (character == "\"") {
      out += "&quot;";
    } else if (length == 0 || character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf") {
      out += "\xef\xbf\xbd";
    } else {
      out += static_cast<unsigned char>(character[0]) < 0x20 ? std::string_view(" ") : character;
    }
  }
  return out;
}

}  // namespace tracesmith
