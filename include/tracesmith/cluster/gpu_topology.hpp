// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/api/gpu_topology.hpp"
