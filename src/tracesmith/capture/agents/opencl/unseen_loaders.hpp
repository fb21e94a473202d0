// SPDX-License-Identifier: Apache-2.0
// Libraries that implement OpenCL's functions and that the agent does not stand above: the trace
// says which, for what is called through them is missing.
#pragma once

#include "tracesmith/base/loaded_modules.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {

/// True when the module defines OpenCL's functions itself: a loader, or a driver that is its own.
bool definesOpenCl(const LoadedModule& module);

/// True of a module that a loader loads; few of them define OpenCL's functions.
bool isOpenClDriver(const LoadedModule& module);

/// The loader asked us for a layer; what is called through it comes to us by that.
void noteLayerOf(const LoadedModule& loader);
bool isLayerOf(const LoadedModule& loader);

/// Writes, once for a module, that its calls are not recorded. Nothing while the agent is not
/// armed.
void tellUnseen(const LoadedModule& module, arena::UnseenLoader why);

/// Of a layer: tells of each loader that is there and has not asked for one. A preloaded agent,
/// which says so first, sees the calls of those.
void tellLoadersWithoutLayers();
void noteCallsByName();
/// Of a preloaded agent: the module that the program's calls reach before they reach us. False:
/// there is none.
bool findOpenClInFront(LoadedModule& out);

}  // namespace tracesmith::agent
