// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/memory_picture.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tracesmith/cli/terminal/values.hpp"
#include "tracesmith/recording/command_codec.hpp"

namespace tracesmith::cli {
namespace {

constexpr uint64_t kMostPixels = uint64_t{1} << 28;

/// Rows of values, `channels` of them per pixel. `order` has, for each pixel of the picture, the
/// indexes of red, green, blue and (if four) alpha among these values; kDark: absent.
struct Raster {
  uint64_t width = 0, height = 0;
  uint32_t channels = 1;
  ElementType type = ElementType::kU8;
  bool scaled = false;  // the values are not bytes from 0 to 255
  std::vector<int> order = {0};
};
constexpr int kDark = -1;

/// cl_channel_order (OpenCL 3.0, table 5.6).
bool orderOf(uint64_t channel_order, Raster& raster) {
  switch (channel_order) {
    case 0x10B0:  // R
    case 0x10B1:  // A
    case 0x10B8:  // INTENSITY
    case 0x10B9:  // LUMINANCE
    case 0x10BA:  // Rx
    case 0x10BD:  // DEPTH
      raster.channels = 1, raster.order = {0};
      return true;
    case 0x10B2:  // RG
    case 0x10BB:  // RGx
      raster.channels = 2, raster.order = {0, 1, kDark};
      return true;
    case 0x10B3:  // RA
      raster.channels = 2, raster.order = {0, 0, 0, 1};
      return true;
    case 0x10B4:  // RGB
    case 0x10BC:  // RGBx
    case 0x10BF:  // sRGB
      raster.channels = 3, raster.order = {0, 1, 2};
      return true;
    case 0x10B5:  // RGBA
    case 0x10C1:  // sRGBA
      raster.channels = 4, raster.order = {0, 1, 2, 3};
      return true;
    case 0x10C0:  // sRGBx
      raster.channels = 4, raster.order = {0, 1, 2};
      return true;
    case 0x10B6:  // BGRA
    case 0x10C2:  // sBGRA
      raster.channels = 4, raster.order = {2, 1, 0, 3};
      return true;
    case 0x10B7:  // ARGB
      raster.channels = 4, raster.order = {1, 2, 3, 0};
      return true;
    case 0x10C3:  // ABGR
      raster.channels = 4, raster.order = {3, 2, 1, 0};
      return true;
    default:
      return false;
  }
}

/// cl_channel_type (table 5.7), except types that pack a pixel into one number.
bool typeOf(uint64_t channel_type, Raster& raster) {
  switch (channel_type) {
    case 0x10D2:  // UNORM_INT8
    case 0x10DA:  // UNSIGNED_INT8
      raster.type = ElementType::kU8;
      return true;
    case 0x10D0:  // SNORM_INT8
    case 0x10D7:  // SIGNED_INT8
      raster.type = ElementType::kI8;
      break;
    case 0x10D1:  // SNORM_INT16
    case 0x10D8:  // SIGNED_INT16
      raster.type = ElementType::kI16;
      break;
    case 0x10D3:  // UNORM_INT16
    case 0x10DB:  // UNSIGNED_INT16
      raster.type = ElementType::kU16;
      break;
    case 0x10D9:  // SIGNED_INT32
      raster.type = ElementType::kI32;
      break;
    case 0x10DC:  // UNSIGNED_INT32
      raster.type = ElementType::kU32;
      break;
    case 0x10DD:  // HALF_FLOAT
      raster.type = ElementType::kF16;
      break;
    case 0x10DE:  // FLOAT
      raster.type = ElementType::kF32;
      break;
    default:
      return false;
  }
  raster.scaled = true;
  return true;
}

Result<Raster> rasterOfImage(const ReplayPlan& plan, ObjectIndex memory) {
  const ReplayStep& made = plan.step(plan.object(memory).made_by);
  recording::CreateImage image;
  Raster raster;
  if (!recording::decode(made.fields, image) || !orderOf(image.channel_order, raster) ||
      !typeOf(image.channel_type, raster)) {
    return fail(ErrorCode::kUnsupported, "has a pixel format that cannot be drawn; try raw or hex",
                plan.objectName(memory));
  }
  if (raster.scaled && raster.order.size() == 4) raster.order.pop_back();  // alpha has no scale
  raster.width = std::max<uint64_t>(1, image.width);
  const uint64_t pixel = raster.channels * elementBytes(raster.type);
  raster.height = plan.object(memory).bytes / pixel / raster.width;
  return raster;
}

/// The smallest and the largest finite value of the displayed part.
std::pair<double, double> extremes(ByteView bytes, const Raster& raster) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const uint64_t size = elementBytes(raster.type);
  for (uint64_t p = 0; p < raster.width * raster.height; ++p) {
    for (const int channel : raster.order) {
      const uint64_t from =
          (p * raster.channels + static_cast<uint64_t>(std::max(0, channel))) * size;
      if (channel == kDark || from + size > bytes.size()) continue;
      const double v = elementValue(bytes.subspan(from, size), raster.type);
      if (!std::isfinite(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  return {low, high};
}

Bytes pixelsOf(ByteView bytes, const Raster& raster, double low, double high) {
  const uint64_t size = elementBytes(raster.type);
  const uint64_t pixels = raster.width * raster.height;
  Bytes out(pixels * raster.order.size());
  size_t at = 0;
  for (uint64_t p = 0; p < pixels; ++p) {
    for (const int channel : raster.order) {
      const uint64_t from =
          (p * raster.channels + static_cast<uint64_t>(std::max(0, channel))) * size;
      uint8_t value = 0;
      if (channel != kDark && from + size <= bytes.size()) {
        if (!raster.scaled) {
          value = bytes[from];
        } else {
          const double v = elementValue(bytes.subspan(from, size), raster.type);
          const double share = high > low ? (v - low) / (high - low) : 0.5;
          if (!std::isnan(v))
            value = static_cast<uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
        }
      }
      out[at++] = value;
    }
  }
  return out;
}

}  // namespace

std::optional<PictureShape> parsePictureShape(std::string_view text) {
  const size_t colon = text.find(':');
  const auto width = parseCount(text.substr(0, colon), 1u << 20);
  if (!width || *width == 0) return std::nullopt;
  PictureShape shape{static_cast<uint32_t>(*width)};
  if (colon != std::string_view::npos) {
    const std::string_view type = text.substr(colon + 1);
    shape.type = elementTypeOf(type);
    if (toString(shape.type) != type) return std::nullopt;
  }
  return shape;
}

Status writePicture(const ReplayPlan& plan, const Dump& dump,
                    const std::optional<PictureShape>& shape, Output& out, std::string& scale) {
  Raster raster;
  if (plan.object(dump.memory).is_image) {
    TS_TRY(raster, rasterOfImage(plan, dump.memory));
  } else if (!shape) {
    return fail(ErrorCode::kInvalidArgument,
                "is not an image; give its layout with --picture WIDTH or --picture WIDTH:TYPE",
                plan.objectName(dump.memory));
  } else {
    raster.type = shape->type;
    raster.scaled = shape->type != ElementType::kU8;
    raster.width = shape->width;
    const uint64_t values = dump.bytes.size() / elementBytes(raster.type);
    raster.height = values / raster.width + (values % raster.width != 0 ? 1 : 0);
  }
  if (raster.height == 0 || raster.width > kMostPixels ||
      raster.height > kMostPixels / raster.width) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("cannot be a picture of {} x {} pixels", raster.width, raster.height),
                plan.objectName(dump.memory));
  }
  double low = 0, high = 255;
  if (raster.scaled) std::tie(low, high) = extremes(dump.bytes, raster);
  scale = fmt::format("{} x {} pixels", raster.width, raster.height);
  if (raster.scaled && low <= high)
    scale += fmt::format("; black is {:.9g}, white {:.9g}", low, high);
  const Bytes pixels = pixelsOf(dump.bytes, raster, low, high);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(raster.width);
  image.height = static_cast<png_uint_32>(raster.height);
  image.format = raster.order.size() == 1   ? PNG_FORMAT_GRAY
                 : raster.order.size() == 3 ? PNG_FORMAT_RGB
                                            : PNG_FORMAT_RGBA;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  Bytes file(bytes);
  if (png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels.data(), 0, nullptr) == 0) {
    return fail(ErrorCode::kIo, std::string("cannot create the picture: ") + image.message,
                plan.objectName(dump.memory));
  }
  out.write({reinterpret_cast<const char*>(file.data()), bytes});
  return {};
}

}  // namespace tracesmith::cli
