// SPDX-License-Identifier: Apache-2.0
// Wraps a stream of Arrow batches so that any thread may read it.
#pragma once

#include <memory>
#include <utility>

#include "tracesmith/query/arrow/arrow_abi.hpp"

namespace tracesmith {

template <class Guard>
struct GuardedStream {
  ArrowArrayStream inner;
  Guard guard;

  static GuardedStream& of(ArrowArrayStream* stream) {
    return *static_cast<GuardedStream*>(stream->private_data);
  }
  static int getSchema(ArrowArrayStream* stream, ArrowSchema* out) {
    GuardedStream& self = of(stream);
    return self.guard([&] { return self.inner.get_schema(&self.inner, out); });
  }
  static int getNext(ArrowArrayStream* stream, ArrowArray* out) {
    GuardedStream& self = of(stream);
    return self.guard([&] { return self.inner.get_next(&self.inner, out); });
  }
  static const char* getLastError(ArrowArrayStream* stream) {
    GuardedStream& self = of(stream);
    return self.guard([&] { return self.inner.get_last_error(&self.inner); });
  }
  static void release(ArrowArrayStream* stream) {
    const std::unique_ptr<GuardedStream> self(&of(stream));
    self->guard([&] {
      self->inner.release(&self->inner);
      return 0;
    });
    stream->release = nullptr;
  }
};

/// Wraps `inner`. Each call f of the stream is made as guard(f), which must return f's result. The
/// stream keeps the guard, and what the guard owns, until it is released.
template <class Guard>
ArrowArrayStream guardedStream(ArrowArrayStream inner, Guard guard) {
  using Stream = GuardedStream<Guard>;
  Stream* made = nullptr;
  try {
    made = new Stream{inner, std::move(guard)};
  } catch (...) {
    inner.release(&inner);
    throw;
  }
  return {.get_schema = Stream::getSchema,
          .get_next = Stream::getNext,
          .get_last_error = Stream::getLastError,
          .release = Stream::release,
          .private_data = made};
}

}  // namespace tracesmith
