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

uint64_t rowBytesOf(TableId id) {
  switch (id) {
    case TableId::kString:
      return 32;  // a view and slots of the hash table; the text is counted separately
    case TableId::kSource:
    case TableId::kRecordedProcess:
    case TableId::kRecordedCommand:
    case TableId::kRecordedContent:
    case TableId::kRecordedPlace:
      return 0;  // have their own reader
#define TS_Y(number, Name, name, columns) \
  case TableId::k##Name:                  \
    return rowBytes<Name##Table>();
      TS_TABLES(TS_Y)
#undef TS_Y
  }
  return 0;  // unknown tables are not read
}

}  // namespace tracesmith::sbt
