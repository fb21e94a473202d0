// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/page/packed.hpp"

#include <isa-l/igzip_lib.h>

namespace tracesmith::studio {

std::string gzip(std::string_view bytes) {
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  std::string work(ISAL_DEF_LVL3_DEFAULT, '\0');
  stream.level = 3;
  stream.level_buf = reinterpret_cast<uint8_t*>(work.data());
  stream.level_buf_size = static_cast<uint32_t>(work.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  std::string in(bytes);  // it takes no constant
  std::string out(in.size() + in.size() / 8 + 1024, '\0');
  stream.next_in = reinterpret_cast<uint8_t*>(in.data());
  stream.avail_in = static_cast<uint32_t>(in.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  (void)isal_deflate_stateless(&stream);  // fails only if `out` were too small
  out.resize(stream.total_out);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
    }
  }
  return out;
}

}  // namespace tracesmith::studio
