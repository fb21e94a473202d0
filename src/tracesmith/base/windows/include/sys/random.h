// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

int getentropy(void* buffer, size_t bytes);
