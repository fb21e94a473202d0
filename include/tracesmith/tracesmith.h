/* SPDX-License-Identifier: Apache-2.0
 * For C: #include <tracesmith/tracesmith.h>, link with -ltracesmith. */
#include "tracesmith/c_api/c_api.h"
