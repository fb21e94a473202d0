// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_walker.hpp"

namespace tracesmith::import {

bool JsonWalker::next(char close) {
  if (failed()) return false;
  at_ = skipSpaces(at_, end_);
  if (at_ >= end_) return fail(JsonFault::kIncomplete);
  const bool first = first_;
  first_ = false;
  if (*at_ == close) {
    at_ = skipSpaces(at_ + 1, end_);
    return false;
  }
  if (first) return true;
  if (*at_ != ',') return fail(JsonFault::kSyntax);
  at_ = skipSpaces(at_ + 1, end_);
  if (at_ >= end_) return fail(JsonFault::kIncomplete);
  return *at_ == close ? fail(JsonFault::kSyntax) : true;
}

bool JsonWalker::member(std::string_view& key) {
  if (!next('}')) return false;
  if (*at_ != '"') return fail(JsonFault::kSyntax);
  JsonToken token;
  if (const JsonFault fault = scanText(at_, end_, token, mended_); fault != JsonFault::kNone) {
    return fail(fault);
  }
  key = token.raw;
  at_ = skipSpaces(at_, end_);
  if (at_ >= end_) return fail(JsonFault::kIncomplete);
  if (*at_ != ':') return fail(JsonFault::kSyntax);
  at_ = skipSpaces(at_ + 1, end_);
  return at_ < end_ || fail(JsonFault::kIncomplete);
}

JsonToken JsonWalker::value() {
  JsonToken token;
  if (failed()) return token;
  first_ = false;
  if (const JsonFault fault = scanValue(at_, end_, token, mended_); fault != JsonFault::kNone) {
    fail(fault);
    return {};
  }
  return token;
}

}  // namespace tracesmith::import
