// SPDX-License-Identifier: Apache-2.0
// Writes pictures of memory and reads them back.
#include "tracesmith/cli/views/memory_picture.hpp"

#include <gmock/gmock.h>
#include <png.h>

#include "tracesmith/replay/plan/recording_test_util.hpp"

namespace tracesmith::cli {
namespace {

using test::RecordingBuilder;
using testing::ElementsAre;
using testing::HasSubstr;

struct Picture {
  uint32_t width = 0, height = 0, format = 0;
  std::vector<uint8_t> pixels;
};

Picture decoded(const std::string& png) {
  Picture picture;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, png.data(), png.size()), 0) << image.message;
  picture.width = image.width, picture.height = image.height, picture.format = image.format;
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr), 0);
  return picture;
}

/// One memory object and its content.
struct Memory {
  explicit Memory(std::vector<uint8_t> held) : bytes(std::move(held)) { r.buffer(bytes.size()); }
  Memory(uint64_t order, uint64_t type, uint64_t width, uint64_t height, std::vector<uint8_t> held)
      : bytes(std::move(held)) {
    recording::CreateImage image{.image = r.newHandle(), .context = RecordingBuilder::kContext};
    image.channel_order = order, image.channel_type = type;
    image.width = width, image.height = height;
    r.add(image);
  }
  Result<Picture> picture(std::string_view shape = {}) {
    RecordingReader reader = r.reader();
    const ReplayPlan plan = std::move(*ReplayPlan::make(*reader.commands(1)));
    Dump dump{{}, static_cast<ObjectIndex>(plan.objects().size() - 1), bytes};
    std::string png;
    Output out = Output::toString(&png);
    const Status ok = writePicture(plan, dump, parsePictureShape(shape), out, scale);
    if (!ok) return tl::unexpected<Error>(ok.error());
    EXPECT_TRUE(out.finish());
    return decoded(png);
  }
  RecordingBuilder r;
  Bytes bytes;
  std::string scale;
};

template <class T>
std::vector<uint8_t> bytesOf(const std::vector<T>& values) {
  const auto* from = reinterpret_cast<const uint8_t*>(values.data());
  return {from, from + values.size() * sizeof(T)};
}

TEST(MemoryPicture, ABufferLiesAsItIsSaidTo) {
  Memory memory({0, 10, 20, 30, 40});
  const auto picture = memory.picture("2");
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->width, 2u);
  EXPECT_EQ(picture->height, 3u);
  EXPECT_THAT(picture->pixels, ElementsAre(0, 10, 20, 30, 40, 0));
}

TEST(MemoryPicture, NumbersAreScaledFromTheLeastToTheLargest) {
  Memory memory(bytesOf<float>({-1, 0, 1, std::nanf("")}));
  const auto picture = memory.picture("4:float");
  ASSERT_TRUE(picture);
  EXPECT_THAT(picture->pixels, ElementsAre(0, 128, 255, 0));
  EXPECT_THAT(memory.scale, HasSubstr("black is -1, white 1"));
}

TEST(MemoryPicture, AnImageHasItsOwnPixels) {
  Memory memory(0x10B6, 0x10D2, 2, 1, {3, 2, 1, 255, 30, 20, 10, 128});  // BGRA, UNORM_INT8
  const auto picture = memory.picture();
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->format, static_cast<uint32_t>(PNG_FORMAT_RGBA));
  EXPECT_THAT(picture->pixels, ElementsAre(1, 2, 3, 255, 10, 20, 30, 128));
}

TEST(MemoryPicture, WhatIsNotShownDoesNotScaleWhatIs) {
  Memory memory(0x10B5, 0x10DE, 2, 1, bytesOf<float>({0, 0.5f, 1, 9, 1, 0.5f, 0, 9}));  // RGBA
  const auto picture = memory.picture();
  ASSERT_TRUE(picture);
  EXPECT_THAT(picture->pixels, ElementsAre(0, 128, 255, 255, 128, 0));
  EXPECT_THAT(memory.scale, HasSubstr("black is 0, white 1"));
}

TEST(MemoryPicture, SaysWhatItCanNotShow) {
  Memory packed(0x10B4, 0x10D4, 2, 1, {1, 2, 3, 4});  // RGB, UNORM_SHORT_565
  EXPECT_EQ(packed.picture().error().code, ErrorCode::kUnsupported);
  Memory buffer({1, 2});
  EXPECT_THAT(buffer.picture().error().toString(), HasSubstr("--picture WIDTH"));
  Memory empty(std::vector<uint8_t>{});
  EXPECT_EQ(empty.picture("4").error().code, ErrorCode::kUnsupported);
  for (const char* shape : {"", "0", "x", "4:", "4:colour", "-1", "99999999999"}) {
    EXPECT_FALSE(parsePictureShape(shape)) << shape;
  }
}

}  // namespace
}  // namespace tracesmith::cli
