// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/api/perfetto_exporter.hpp"
#include "tracesmith/api/tracing_session.hpp"
