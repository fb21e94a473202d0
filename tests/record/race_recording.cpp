// SPDX-License-Identifier: Apache-2.0
// `race_recording FILE [wait]`: a recording of ten rounds in which a kernel of one queue writes
// what a kernel of another reads, a copy overwrites it from a third, and a kernel without source
// looks at it. With `wait`, each waits for the one before.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tracesmith/recording/recording_file.hpp"

using namespace tracesmith;             // NOLINT: a program of few functions
using namespace tracesmith::recording;  // NOLINT

namespace {

constexpr const char* kSource =
    "kernel void fill_in(global float* out) { out[get_global_id(0)] = 1; }\n"
    "kernel void add_up(global const float* in, global float* sum) { *sum += *in; }\n";

struct Stream {
  Bytes bytes;
  uint32_t count = 0;
  template <class Command>
  void add(Command command) {
    CommandHeader header;
    header.thread = 7;
    header.start_ns = 1'000'000 + count * 10'000;
    header.end_ns = header.start_ns + 1'000;
    header.sequence = count++;
    const size_t at = bytes.size();
    bytes.resize(at + encodedBytes(command));
    encode(header, command, bytes.data() + at);
  }
};

void setArgument(Stream& stream, Handle kernel, uint64_t index, Handle value) {
  uint8_t raw[8];
  std::memcpy(raw, &value, sizeof raw);
  stream.add(SetArgument{.kernel = kernel, .index = index, .bytes = 8, .value = raw});
}

Status write(const std::string& path, bool waits) {
  TS_TRY(RecordingWriter writer, RecordingWriter::create(path));
  TS_CHECK_OK(writer.addProcess({1, 4711, 1, "by hand"}));
  const ByteView source(reinterpret_cast<const uint8_t*>(kSource), std::strlen(kSource));
  const ContentHash chunk = hashOf(source);
  TS_CHECK_OK(writer.addContent(chunk, source));
  Stream s;
  for (const Handle queue : {1, 2, 3}) s.add(CreateQueue{.queue = queue});
  for (const Handle buffer : {11, 12}) s.add(CreateBuffer{.buffer = buffer, .bytes = 4096});
  s.add(CreateProgram{.program = 21, .code = {source.size(), {&chunk, 1}}});
  s.add(BuildProgram{.program = 21});
  s.add(CreateProgram{.program = 22, .form = ProgramForm::kBinary});
  const auto kernel = [&](Handle handle, Handle program, const char* name) {
    s.add(CreateKernel{.kernel = handle, .program = program, .name = {name, std::strlen(name)}});
  };
  kernel(31, 21, "fill_in");
  kernel(32, 21, "add_up");
  kernel(33, 22, "opaque");
  setArgument(s, 31, 0, 11);
  setArgument(s, 32, 0, 11);
  setArgument(s, 32, 1, 12);
  setArgument(s, 33, 0, 11);
  Handle last = 0;
  for (Handle round = 0; round < 10; ++round) {
    const auto next = [&](auto command) {
      const Handle before[] = {last};
      if (waits && last != 0) command.waits = before;
      command.event = ++last + 100;
      last = command.event;
      s.add(command);
    };
    next(Launch{.queue = 1, .kernel = 31});
    next(Launch{.queue = 2, .kernel = 32});
    Fill part{.queue = 3, .memory = 11};
    part.box.origin[0] = 1024;
    part.box.region[0] = 512;
    next(part);
    next(Launch{.queue = 2, .kernel = 33});
    s.add(Finish{.queue = 1});
    s.add(Finish{.queue = 2});
    s.add(Finish{.queue = 3});
  }
  s.add(End{});
  TS_CHECK_OK(writer.addCommands(1, s.bytes, s.count));
  return writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const Status done = write(argv[1], argc > 2);
  if (!done) std::fprintf(stderr, "%s\n", done.error().toString().c_str());
  return done ? 0 : 1;
}
