// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/topology/xml_tree.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>

namespace tracesmith::topology {
namespace {

constexpr size_t kDeepest = 256;
constexpr size_t kMostElements = 1u << 20;
constexpr size_t kPiece = 1u << 20;  // bytes per call of the parser

class TreeReader {
 public:
  TreeReader() : parser_(XML_ParserCreate(nullptr), XML_ParserFree) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<TreeReader*>(self)->begin(name, attributes);
        },
        [](void* self, const XML_Char*) { static_cast<TreeReader*>(self)->end(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const XML_Char* text, int length) {
      static_cast<TreeReader*>(self)->open_.back().text.append(text, static_cast<size_t>(length));
    });
    // hwloc names a document type, but declares nothing in it.
    XML_SetEntityDeclHandler(parser_.get(), [](void* self, const XML_Char*, int, const XML_Char*,
                                               int, const XML_Char*, const XML_Char*,
                                               const XML_Char*, const XML_Char*) {
      static_cast<TreeReader*>(self)->refuse("it declares an entity, which such a file does not");
    });
  }

  Result<XmlElement> read(std::string_view text, const std::string& where) {
    for (bool last = false; !last;) {
      const std::string_view piece = text.substr(0, kPiece);
      text.remove_prefix(piece.size());
      last = text.empty();
      if (XML_Parse(parser_.get(), piece.data(), static_cast<int>(piece.size()), last ? 1 : 0) !=
          XML_STATUS_OK) {
        const auto line = XML_GetCurrentLineNumber(parser_.get());
        const std::string why =
            !refused_.empty() ? refused_ : XML_ErrorString(XML_GetErrorCode(parser_.get()));
        return fail(ErrorCode::kDamaged,
                    fmt::format("is not a whole XML file: line {}: {}", line, why), where);
      }
    }
    return std::move(outermost_);
  }

 private:
  void begin(const XML_Char* name, const XML_Char** attributes) {
    if (open_.size() >= kDeepest) return refuse("elements within more than 256 others");
    if (++elements_ > kMostElements) return refuse("more than a million elements");
    XmlElement element;
    element.name = name;
    element.line = static_cast<int>(XML_GetCurrentLineNumber(parser_.get()));
    for (size_t i = 0; attributes[i] != nullptr; i += 2) {
      element.attributes.emplace_back(attributes[i], attributes[i + 1]);
    }
    open_.push_back(std::move(element));
  }
  void end() {
    XmlElement element = std::move(open_.back());
    open_.pop_back();
    (open_.empty() ? outermost_ : open_.back().children.emplace_back()) = std::move(element);
  }
  void refuse(std::string why) {
    refused_ = std::move(why);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser_;
  std::vector<XmlElement> open_;
  XmlElement outermost_;
  size_t elements_ = 0;
  std::string refused_;
};

}  // namespace

std::string_view XmlElement::operator[](std::string_view attribute) const {
  const auto it = std::find_if(attributes.begin(), attributes.end(),
                               [&](const auto& each) { return each.first == attribute; });
  return it != attributes.end() ? std::string_view(it->second) : std::string_view();
}

Result<XmlElement> readXml(std::string_view text, const std::string& where) {
  return TreeReader().read(text, where);
}

}  // namespace tracesmith::topology
