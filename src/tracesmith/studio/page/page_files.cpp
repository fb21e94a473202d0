// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/page/page_files.hpp"

#include <isa-l/igzip_lib.h>

#include <array>

#ifdef TRACESMITH_STUDIO_PAGE
// Each file between two symbols. CMake recompiles this when one of them changes.
#define TRACESMITH_PAGE_FILE(symbol, file)                                      \
  asm(".section .rodata\n"                                                      \
      ".global tracesmith_page_" #symbol                                        \
      "\n"                                                                      \
      "tracesmith_page_" #symbol ": .incbin \"" TRACESMITH_STUDIO_PAGE "/" file \
      "\"\n"                                                                    \
      ".global tracesmith_page_" #symbol                                        \
      "_end\n"                                                                  \
      "tracesmith_page_" #symbol                                                \
      "_end: .byte 0\n"                                                         \
      ".previous\n");                                                           \
  extern "C" const char tracesmith_page_##symbol[], tracesmith_page_##symbol##_end[]

TRACESMITH_PAGE_FILE(html, "index.html.gz");
TRACESMITH_PAGE_FILE(js, "studio.js.gz");
TRACESMITH_PAGE_FILE(charts, "charts.js.gz");
TRACESMITH_PAGE_FILE(css, "studio.css.gz");
#endif

namespace tracesmith::studio {

#ifdef TRACESMITH_STUDIO_PAGE
std::span<const PageFile> pageFiles() {
  static const std::array<PageFile, 4> kFiles = {{
      {"/", "text/html; charset=utf-8", {tracesmith_page_html, tracesmith_page_html_end}},
      {"/studio.js",
       "text/javascript; charset=utf-8",
       {tracesmith_page_js, tracesmith_page_js_end}},
      {"/charts.js",
       "text/javascript; charset=utf-8",
       {tracesmith_page_charts, tracesmith_page_charts_end}},
      {"/studio.css", "text/css; charset=utf-8", {tracesmith_page_css, tracesmith_page_css_end}},
  }};
  return kFiles;
}
#else
std::span<const PageFile> pageFiles() { return {}; }
#endif

std::string pageFile(std::string_view path) {
  std::string out;
  for (const PageFile& file : pageFiles()) {
    if (file.path != path) continue;
    inflate_state state;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
    std::string gzip(file.gzip);  // it takes no constant
    state.next_in = reinterpret_cast<uint8_t*>(gzip.data());
    state.avail_in = static_cast<uint32_t>(gzip.size());
    do {
      constexpr size_t kStep = 256 << 10;
      const size_t before = out.size();
      out.resize(before + kStep);
      state.next_out = reinterpret_cast<uint8_t*>(out.data() + before);
      state.avail_out = kStep;
      if (isal_inflate(&state) != ISAL_DECOMP_OK) return {};
      out.resize(out.size() - state.avail_out);
    } while (state.block_state != ISAL_BLOCK_FINISH);
  }
  return out;
}

}  // namespace tracesmith::studio
