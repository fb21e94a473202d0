// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/format/sbt_file.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"
