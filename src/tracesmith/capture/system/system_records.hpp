// SPDX-License-Identifier: Apache-2.0
// The records of the programs in the kernel, with C++'s names of the types.
#pragma once

#include <linux/types.h>

#include "tracesmith/capture/system/bpf/system_records.h"
