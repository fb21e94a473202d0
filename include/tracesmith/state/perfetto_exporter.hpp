// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/export/perfetto_exporter.hpp"
