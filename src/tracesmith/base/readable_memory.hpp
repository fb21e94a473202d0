// SPDX-License-Identifier: Apache-2.0
// Asks the kernel whether memory can be read. An agent that looks at what a program gave to a call
// must not fault where the call itself would not: one that the driver refuses may have been given
// pointers that lead nowhere.
//
// Part of what enters other people's programs: libc alone, no allocation, no lock; keeps errno.
// About 100 ns for each page.
#pragma once

#include <cstddef>

namespace tracesmith {

/// True when all of it can be read now. What another thread unmaps meanwhile is not noticed.
bool isReadable(const void* p, size_t bytes);

/// The length of a text, as far as it can be read and at most `most`; false when neither its end
/// nor `most` bytes of it can be.
bool readableLength(const char* text, size_t most, size_t& out);

}  // namespace tracesmith
