// SPDX-License-Identifier: Apache-2.0
// Writes the content of a memory object as a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/replay/check/typed_difference.hpp"
#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith::cli {

/// How to interpret a buffer: rows of `width` values, each of which is a grey level.
struct PictureShape {
  uint32_t width = 0;
  ElementType type = ElementType::kU8;
};

/// Parses "512" or "512:float"; empty if it is neither.
std::optional<PictureShape> parsePictureShape(std::string_view text);

/// Writes a PNG with 8 bits per channel. An image uses its own pixels, with slices or layers below
/// each other; `shape` interprets a buffer. Values that are not bytes are scaled: the minimum is
/// black, the maximum is white; NaN is black. `scale` receives a description of the scaling.
Status writePicture(const ReplayPlan& plan, const Dump& dump,
                    const std::optional<PictureShape>& shape, Output& out, std::string& scale);

}  // namespace tracesmith::cli
