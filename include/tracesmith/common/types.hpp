// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/version.hpp"
#include "tracesmith/model/kinds.hpp"
#include "tracesmith/model/trace_event.hpp"
