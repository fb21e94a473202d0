// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/studio_notes.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/output/output.hpp"

namespace tracesmith::studio {
namespace {

constexpr uintmax_t kMostFileBytes = 16 << 20;

}  // namespace

std::string notesPath(const std::string& trace) { return trace + ".notes.json"; }

Result<std::vector<StudioNote>> readNotes(const std::string& trace) {
  const std::string path = notesPath(trace);
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) return std::vector<StudioNote>();
  if (error || size > kMostFileBytes) {
    return fail(ErrorCode::kIo, error ? error.message() : "is too large for notes", path);
  }
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  Result<std::vector<StudioNote>> notes = notesOf(text.str());
  if (!notes) return fail(notes.error().code, notes.error().message, path);
  return notes;
}

Status writeNotes(const std::string& trace, const std::vector<StudioNote>& notes) {
  const std::string path = notesPath(trace);
  if (notes.empty()) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) return fail(ErrorCode::kIo, error.message(), path);
    return {};
  }
  TS_TRY(Output out, Output::toFile(path));
  out.write(notesJson(notes));
  out.put('\n');
  return out.finish();
}

std::string notesJson(const std::vector<StudioNote>& notes) {
  std::string text;
  Output out = Output::toString(&text);
  JsonWriter json(out);
  json.beginObject().key("notes").beginArray();
  for (const StudioNote& note : notes) {
    json.beginObject().field("begin_ns", note.begin_ns).field("end_ns", note.end_ns);
    json.field("text", note.text).endObject();
  }
  json.endArray().endObject();
  (void)out.finish();  // a text has room
  return text;
}

Result<std::vector<StudioNote>> notesOf(const std::string& json) {
  std::vector<StudioNote> out;
  const auto read = [&] {
    simdjson::dom::parser parser;
    simdjson::dom::array notes;
    if (parser.parse(simdjson::padded_string(json))["notes"].get(notes) != simdjson::SUCCESS ||
        notes.size() > kMostNotes) {
      return false;
    }
    for (const simdjson::dom::element element : notes) {
      StudioNote note;
      std::string_view text;
      if (element["begin_ns"].get(note.begin_ns) != simdjson::SUCCESS ||
          element["end_ns"].get(note.end_ns) != simdjson::SUCCESS || note.end_ns < note.begin_ns ||
          element["text"].get(text) != simdjson::SUCCESS || text.size() > kMostNoteBytes) {
        return false;
      }
      note.text = text;
      out.push_back(std::move(note));
    }
    return true;
  };
  if (!read()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("is no list of notes; there can be {} notes of {} bytes", kMostNotes,
                            kMostNoteBytes),
                "notes");
  }
  return out;
}

}  // namespace tracesmith::studio
