// SPDX-License-Identifier: Apache-2.0
// The content of a memory object as a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/replay/check/typed_difference.hpp"
#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith::cli {

/// How a buffer is to be looked at: rows of `width` values, each a grey.
struct PictureShape {
  uint32_t width = 0;
  ElementType type = ElementType::kU8;
};

/// "512" or "512:float". Nothing: it is neither.
std::optional<PictureShape> parsePictureShape(std::string_view text);

/// A PNG with 8 bits a channel. An image has its own pixels, its slices or layers below each other;
/// of a buffer `shape` says how it lies. Values that are no bytes are scaled so that the least is
/// black and the largest white; NaN is black. `scale` gets what was done, for people.
Status writePicture(const ReplayPlan& plan, const Dump& dump,
                    const std::optional<PictureShape>& shape, Output& out, std::string& scale);

}  // namespace tracesmith::cli
