// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/capture/session/tracing_session.hpp"
#include "tracesmith/export/perfetto_exporter.hpp"
