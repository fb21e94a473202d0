// SPDX-License-Identifier: Apache-2.0
// Asks the kernel whether memory can be read. An agent that inspects the arguments of a call must
// not fault where the call itself would not: a call that the driver rejects may have been given
// invalid pointers.
//
// This code runs inside other people's programs: it uses only libc, allocates nothing, takes no
// lock and preserves errno. It costs about 100 ns per page.
#pragma once

#include <cstddef>

namespace tracesmith {

/// Whether all bytes can be read now. Does not notice another thread unmapping them meanwhile.
bool isReadable(const void* p, size_t bytes);

/// The length of a string that may be only partly readable, limited to `most`. False if neither its
/// end nor `most` bytes can be read.
bool readableLength(const char* text, size_t most, size_t& out);

}  // namespace tracesmith
