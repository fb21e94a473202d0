// SPDX-License-Identifier: Apache-2.0
// OpenCL libraries that the agent does not wrap. The trace names them, because calls through them
// are missing.
#pragma once

#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {

/// True if the module itself defines OpenCL's functions: a loader, or a driver used directly.
bool definesOpenCl(const LoadedModule& module);

/// True for a module that a loader loads; few of them define OpenCL's functions.
bool isOpenClDriver(const LoadedModule& module);

/// The loader has asked the agent for a layer, so the agent sees the calls through it.
void noteLayerOf(const LoadedModule& loader);
bool isLayerOf(const LoadedModule& loader);

/// Records, once per module, that its calls are not recorded. Does nothing while the agent is not
/// armed.
void reportUnwrappedLoader(const LoadedModule& module, arena::UnwrappedLoader why);

/// In a layer: reports each present loader that has not asked for a layer. Does nothing after
/// noteCallsByName(), by which a preloaded agent says that it sees the calls through such loaders.
void reportLoadersWithoutLayers();
void noteCallsByName();
/// In a preloaded agent: finds the module that the program's calls reach before the agent. False:
/// there is none.
bool findOpenClInFront(LoadedModule& out);

}  // namespace tracesmith::agent
