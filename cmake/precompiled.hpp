// SPDX-License-Identifier: Apache-2.0
// What most files include, parsed once where TRACESMITH_PCH is on. No file may rely on it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
