// SPDX-License-Identifier: Apache-2.0
// A stream of Arrow batches whose reader may be any thread.
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

/// `inner`, of which each call f is made by guard(f), which gives what f() gives. It keeps the
/// guard, with what that holds, until it is released.
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
