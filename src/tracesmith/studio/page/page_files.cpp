// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/page/page_files.hpp"

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
TRACESMITH_PAGE_FILE(css, "studio.css.gz");
#endif

namespace tracesmith::studio {

#ifdef TRACESMITH_STUDIO_PAGE
std::span<const PageFile> pageFiles() {
  static const std::array<PageFile, 3> kFiles = {{
      {"/", "text/html; charset=utf-8", {tracesmith_page_html, tracesmith_page_html_end}},
      {"/studio.js",
       "text/javascript; charset=utf-8",
       {tracesmith_page_js, tracesmith_page_js_end}},
      {"/studio.css", "text/css; charset=utf-8", {tracesmith_page_css, tracesmith_page_css_end}},
  }};
  return kFiles;
}
#else
std::span<const PageFile> pageFiles() { return {}; }
#endif

}  // namespace tracesmith::studio
