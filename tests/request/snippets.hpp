// SPDX-License-Identifier: Apache-2.0
// Comes before each C++ snippet of the request (cases/*.cpp), whose text is left as it is: its main
// becomes a function of its own (CMakeLists.txt), and its profilers find work to capture.
#pragma once

#include <iostream>  // which programs for TraceSmith 0.x had from tracesmith.hpp

#include <tracesmith/tracesmith.hpp>

namespace tracesmith {

/// createProfiler(), but a platform that the machine does not have is replaced by OpenCL, and that
/// is printed (REQUEST_AS_WRITTEN in the environment: it is not); and right after startCapture()
/// kernels run on OpenCL, where the snippets have a comment.
std::unique_ptr<IPlatformProfiler> createWorkingProfiler(PlatformType platform);

/// What "(see above)" says in a snippet: the events of such a capture.
std::vector<TraceEvent> captureEvents();

/// Kernels that profilers have given to snippets since the program began.
size_t kernelsSeen();

}  // namespace tracesmith

#define createProfiler createWorkingProfiler
