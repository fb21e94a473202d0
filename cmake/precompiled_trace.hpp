// SPDX-License-Identifier: Apache-2.0
// The same for rooms behind the model.
#pragma once

#include "precompiled.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"
