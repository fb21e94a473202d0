// SPDX-License-Identifier: Apache-2.0
// The name under which programs include the timeline viewer.
#pragma once

#include "tracesmith/api/timeline_viewer.hpp"
