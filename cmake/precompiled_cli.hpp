// SPDX-License-Identifier: Apache-2.0
// What the files of the command line have in common; CLI11 is most of what they compile.
#pragma once

#include <CLI/CLI.hpp>

#include "precompiled_trace.hpp"
