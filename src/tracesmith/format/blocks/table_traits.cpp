// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/table_traits.hpp"

namespace tracesmith::sbt {

std::string tableName(uint16_t number) {
  switch (static_cast<TableId>(number)) {
    case TableId::kString:
      return "string";
    case TableId::kSource:
      return "source";
    case TableId::kRecordedProcess:
      return "recorded process";
    case TableId::kRecordedCommand:
      return "recorded command";
    case TableId::kRecordedContent:
      return "recorded content";
    case TableId::kRecordedPlace:
      return "recorded place";
#define TS_Y(table_number, Name, name, columns) \
  case TableId::k##Name:                        \
    return #name;
      TS_TABLES(TS_Y)
#undef TS_Y
  }
  return std::to_string(number);
}

}  // namespace tracesmith::sbt
