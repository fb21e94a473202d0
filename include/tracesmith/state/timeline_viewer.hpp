// SPDX-License-Identifier: Apache-2.0
// Public header of the timeline viewer.
#pragma once

#include "tracesmith/api/timeline_viewer.hpp"
