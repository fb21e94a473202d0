// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_source/kernel_access.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tracesmith/base/clock.hpp"

namespace tracesmith::races {
namespace {

/// One letter per argument: - neither, r, w, b both, u both because it is unknown; "unknown" for an
/// unknown kernel.
std::string of(std::string_view source, std::string_view options = "",
               std::string_view name = "k") {
  const KernelAccess access = ProgramAccess(source, options).kernel(name);
  if (!access.is_known) return "unknown";
  std::string text;
  for (const ArgumentAccess& a : access.arguments) {
    text += !a.is_sure ? 'u' : a.reads && a.writes ? 'b' : a.reads ? 'r' : a.writes ? 'w' : '-';
  }
  return text;
}
/// As of(), for a body with p and q to global memory and a number n.
std::string ofBody(const std::string& body, const std::string& before = "") {
  return of(before + "__kernel void k(__global float* p, __global float* q, int n) { " + body +
            " }");
}

TEST(KernelAccess, PlainReadsAndWrites) {
  EXPECT_EQ(ofBody("int i = get_global_id(0); p[i] = q[i] + n;"), "wr-");
  EXPECT_EQ(ofBody("p[0] += q[0];"), "br-");
  EXPECT_EQ(ofBody("p[0]++; --q[1];"), "bb-");
  EXPECT_EQ(ofBody("float x = p[0]; *q = x;"), "rw-");
  EXPECT_EQ(ofBody("if (n > 0) p[0] = 1; else q[0] = 2;"), "ww-");
  EXPECT_EQ(ofBody("for (int i = 0; i < n; ++i) p[i] = q[i * 2];"), "wr-");
  EXPECT_EQ(ofBody("p[(int)q[0]] = 1;"), "wr-");
  EXPECT_EQ(ofBody("while (q[n] > 0) { n--; } switch (n) { case 1: p[0] = 1; break; default: ; }"),
            "wr-");
  EXPECT_EQ(ofBody(""), "---");
  EXPECT_EQ(ofBody("n = 3; (void)n;"), "---");
}

TEST(KernelAccess, PointersThroughVariables) {
  EXPECT_EQ(ofBody("__global float* r = p + 4; r[n] = *q;"), "wr-");
  EXPECT_EQ(ofBody("__global float *r = p, *s = q; *r++ = *s++;"), "wr-");
  EXPECT_EQ(ofBody("__global float* r; r = n ? p : q; *r = 1;"), "ww-");
  EXPECT_EQ(ofBody("__global float* a = b; __global float* b = p; a[0] = 1;"), "w--");
  EXPECT_EQ(ofBody("__global float4* v = (__global float4*)p; v[0].x = q[0]; v->y = 2;"), "wr-");
  EXPECT_EQ(ofBody("size_t at = (size_t)p; *(__global float*)(at + 4) = 1;"), "w--");
  EXPECT_EQ(ofBody("__global float* r = &p[3]; *(r + 1) = q[1];"), "wr-");
  EXPECT_EQ(ofBody("p += n; p[0] = 1; q = q + 1; float x = *q; p[1] = x;"), "wr-");
  EXPECT_EQ(ofBody("struct { __global float* at; } s; s.at = p; s.at[2] = q[0];"), "wr-");
  EXPECT_EQ(ofBody("*(n ? p : q) = 4;"), "ww-");
}

TEST(KernelAccess, PointersInVariablesThatAreReachedByTheirAddress) {
  const std::string type = "typedef struct { __global float* at; __global float* more[2]; } S;\n";
  EXPECT_EQ(ofBody("__global float* all[2]; all[0] = p; all[1][0] = q[0];"), "wr-");
  EXPECT_EQ(ofBody("__global float* r = p; __global float** rr = &r; **rr = q[0];"), "wr-");
  EXPECT_EQ(ofBody("S s = {p}; s.at[n] = q[0];", type), "wr-");
  EXPECT_EQ(ofBody("S s; S* t = &s; t->at = p; s.at[n] = q[0];", type), "wr-");
  EXPECT_EQ(ofBody("S s; S* t = &s; s.at = p; t->at[n] = q[0];", type), "wr-");
  EXPECT_EQ(ofBody("S s; (&s)->at = p; *(*&s).at = q[0];", type), "wr-");
  EXPECT_EQ(ofBody("S s; s.more[1] = p; s.more[n][n] = q[0];", type), "wr-");
  EXPECT_EQ(ofBody("S s[2]; s[1].at = p; s[n].at[3] = q[0];", type), "wr-");
  const std::string functions =
      type +
      "void set(S* s, __global float* a) { s->at = a; }\n"
      "void put(const S* s, float x) { s->at[1] = x; }\n"
      "void both(S* s, __global float* a, float x) { set(s, a); put(s, x); }\n"
      "float get(S s) { return s.at[0]; }\n"
      "S made(__global float* a) { S s; s.at = a; return s; }\n";
  EXPECT_EQ(ofBody("S s; set(&s, p); s.at[0] = q[0];", functions), "wr-");
  EXPECT_EQ(ofBody("S s; s.at = p; put(&s, q[0]);", functions), "wr-");
  EXPECT_EQ(ofBody("S s; both(&s, p, q[0]);", functions), "wr-");
  EXPECT_EQ(ofBody("S s; S* t = &s; set(t, q); p[0] = get(s);", functions), "wr-");
  EXPECT_EQ(ofBody("made(p).at[2] = get(made(q));", functions), "wr-");
}

TEST(KernelAccess, WhatOnlyHoldsAPointerIsNotWrittenThroughIt) {
  const std::string type = "typedef struct { __global float* at; int n; } S;\n";
  EXPECT_EQ(ofBody("S s; s.at = p; s.n = 3; q[0] = s.at[s.n];", type), "rw-");
  EXPECT_EQ(ofBody("S s; S* t = &s; t->at = p; t->n = 3; q[0] = t->at[0];", type), "rw-");
  EXPECT_EQ(ofBody("S s; set(&s, p); q[0] = s.at[0];",
                   type + "void set(S* s, __global float* a) { s->at = a; s->n = 1; }\n"),
            "rw-");
}

TEST(KernelAccess, MemoryBehindPointersThatLieInMemory) {
  const auto behind = [](const std::string& body) {
    const std::string source =
        "typedef struct Node { __global struct Node* next; __global int* data; int own[4]; } "
        "Node;\n"
        "kernel void k(global Node* list) { " +
        body + " }";
    const ArgumentAccess a = ProgramAccess(source, "").kernel("k").arguments.at(0);
    return std::string(a.is_sure ? "" : "u") + (a.reads ? "r" : "-") + (a.writes ? "w" : "-") +
           (a.reads_indirectly ? "r" : "-") + (a.writes_indirectly ? "w" : "-");
  };
  EXPECT_EQ(behind("list->own[2] = 1;"), "-w--");
  EXPECT_EQ(behind("list->data[2] = 1;"), "r--w");
  EXPECT_EQ(behind("list->next->own[0] = 1;"), "r--w");
  EXPECT_EQ(behind("list[3].own[1] = *list[2].data;"), "rwr-");
}

TEST(KernelAccess, CodeThatIsNeverExecuted) {
  const auto with = [](const std::string& body, const std::string& options) {
    return of(
        "constant int kNever = 0;\nenum { kFirst, kSecond };\n"
        "__kernel void k(__global float* p, __global float* q, int n) { " +
            body + " }",
        options);
  };
  EXPECT_EQ(with("if (WR) p[0] = 0; q[0] = 1;", "-DWR=0"), "-w-");
  EXPECT_EQ(with("if (WR) p[0] = 0; q[0] = 1;", "-DWR=1"), "ww-");
  EXPECT_EQ(with("if (WR) p[0] = 0; q[0] = 1;", "-DWR"), "ww-");
  EXPECT_EQ(with("if (WR) { if (n) p[0] = 0; } else q[0] = 1;", "-DWR=0"), "-w-");
  EXPECT_EQ(with("if (WR) { if (n) p[0] = 0; } else q[0] = 1;", "-DWR=2"), "w--");
  EXPECT_EQ(with("if (WR == 1) p[0] = 0; else if (WR == 2) q[0] = 1; else p[1] = q[0];", "-DWR=2"),
            "-w-");
  EXPECT_EQ(with("if (WR && n > 0) p[0] = 0;", "-DWR=0"), "---");
  EXPECT_EQ(with("if (WR && get_global_id(0) < n) p[0] = 0;", "-DWR=0"), "---");
  EXPECT_EQ(with("if (n > 0 || WR) q[0] = 0; else p[0] = 1;", "-DWR=1"), "-w-");
  EXPECT_EQ(with("if (BETA != 0) p[0] = BETA * p[0]; else p[0] = q[0];", "-DBETA=0.0f"), "wr-");
  EXPECT_EQ(with("while (WR) p[0] = 0; do q[0] = 1; while (WR);", "-DWR=0"), "-w-");
  EXPECT_EQ(with("for (int i = 0; i < n; ++i) if (WR) p[i] = q[i];", "-DWR=(1-1)"), "---");
  EXPECT_EQ(with("float x = WR ? p[0] : q[0];", "-DWR=0"), "-r-");
  EXPECT_EQ(with("const int wr = WR; if (wr) p[0] = 0;", "-DWR=0"), "---");
  EXPECT_EQ(with("int wr = 0; wr = n; if (wr) p[0] = 0;", ""), "w--");
  EXPECT_EQ(with("if (kNever || kFirst) p[0] = 0; if (kSecond) q[0] = 0;", ""), "-w-");
  // Code with a jump target is not dead.
  EXPECT_EQ(with("switch (n) { case 0: if (WR) { case 1: p[0] = 0; } }", "-DWR=0"), "w--");
  EXPECT_EQ(with("goto in; if (WR) { in: p[0] = 0; }", "-DWR=0"), "w--");
  // Code that depends on an unknown value is not dead either.
  EXPECT_EQ(with("if (n) p[0] = 0;", "-DWR=0"), "w--");
  EXPECT_EQ(with("if (UNKNOWN) p[0] = 0;", "-DWR=0"), "w--");
}

// Each of these writes p[0]: constants have the types that C gives them.
/// As of(), for a kernel with p and q to global memory, a number n of `type`, and a number m.
template <class N>
std::string given(N n, const std::string& body, const std::string& type = "int",
                  const std::string& before = "", int m = 0) {
  ProgramAccess program(before + "__kernel void k(__global float* p, __global float* q, " + type +
                            " n, const int m) { " + body + " }",
                        "");
  const auto bytesOf = [](const auto& value) {
    return std::span(reinterpret_cast<const uint8_t*>(&value), sizeof value);
  };
  const KernelAccess access = program.kernel("k", {{}, {}, bytesOf(n), bytesOf(m)});
  if (!access.is_known) return "unknown";
  std::string text;
  for (const ArgumentAccess& a : access.arguments) {
    text += !a.is_sure ? 'u' : a.reads && a.writes ? 'b' : a.reads ? 'r' : a.writes ? 'w' : '-';
  }
  return text;
}

TEST(KernelAccess, ValuesOfArgumentsDecideConditions) {
  const std::string write = "int i = get_global_id(0); if (n > 0) p[i] = 0; q[i] = 1;";
  EXPECT_EQ(given(0, write), "-w--");
  EXPECT_EQ(given(-1, write), "-w--");
  EXPECT_EQ(given(1, write), "ww--");
  EXPECT_EQ(of("__kernel void k(__global float* p, __global float* q, int n) {" + write + "}"),
            "ww-")
      << "whatever n is";
  EXPECT_EQ(given(0, "if (n) p[0] = 1; else q[0] = 2;"), "-w--");
  EXPECT_EQ(given(7, "if (n) p[0] = 1; else q[0] = 2;"), "w---");
  EXPECT_EQ(given(3, "if (n == 3 && m == 0) p[0] = 1; else q[0] = 2;"), "w---");
  EXPECT_EQ(given(3, "float x = n == 4 ? p[0] : q[0];"), "-r--");
  EXPECT_EQ(given(3, "const int both = n + m; if (both == 4) p[0] = 1;"), "----");
  EXPECT_EQ(given(3, "if (n * 2 == 7) p[0] = 1; if (2 * n == 7) q[0] = 1;"), "----");
  EXPECT_EQ(given(0, "for (int i = 0; i < 9; ++i) if (n) p[i] = q[i];"), "----");
  EXPECT_EQ(given(0, "while (n) p[0] = 1;"), "----");
  EXPECT_EQ(given(0, "if (get_global_id(0) < n) p[0] = 1;"), "w---") << "not decided by n alone";
  EXPECT_EQ(given(1.5F, "if (n > 1.0f) p[0] = 1; else q[0] = 1;", "float"), "w---");
  EXPECT_EQ(given(2.0, "if (n < 1) p[0] = 1; else q[0] = 1;", "double"), "-w--");
  EXPECT_EQ(given(uint8_t{200}, "if (n == 200) p[0] = 1; else q[0] = 1;", "const uchar"), "w---");
  EXPECT_EQ(given(int8_t{-56}, "if (n < 0) p[0] = 1; else q[0] = 1;", "char"), "w---");
  EXPECT_EQ(given(int64_t{5}, "if (n == 5) p[0] = 1; else q[0] = 1;", "long"), "w---");
}

TEST(KernelAccess, ValuesThatAreNotTheArgumentsOwnDecideNothing) {
  const std::string both = " if (n) p[0] = 1; else q[0] = 1;";
  for (const std::string before :
       {"n = 1;", "n++;", "--n;", "(n) += 2;", "++(n);", "int* at = &n; *at = 1;", "foo(&(n));",
        "{ int n = 3; p[1] = n; }", "struct S n;", "struct S *n;", "int a, *n;", "int a, n[2];",
        "for (int i = 0, n = 4; i < n; ++i) {}", "enum { n };", "int& other = n; other = 1;",
        "auto& other = n; other = 1;"}) {
    EXPECT_NE(given(0, before + both), "-w--") << before;
  }
  EXPECT_EQ(given(0, "set(n);" + both, "int", "void set(int& x) { x = 1; }\n"), "ww--");
  // Of another size or type than the parameter, beyond what is followed, or too small to be
  // certain.
  EXPECT_EQ(given(int64_t{0}, both), "ww--");
  EXPECT_EQ(given(0, both, "long"), "ww--");
  EXPECT_EQ(given(int64_t{1} << 40, both, "long"), "ww--");
  EXPECT_EQ(given(1e-30F, both, "float"), "ww--");
  EXPECT_EQ(given(std::nanf(""), "if (n > 0) p[0] = 1; else q[0] = 1;", "float"), "ww--");
  EXPECT_EQ(given(int64_t{0}, both, "__global int*"), "ww--");
  EXPECT_EQ(given(int64_t{0}, both, "float2"), "ww--");
  EXPECT_EQ(given(0, both, "volatile int"), "ww--");
  EXPECT_EQ(given(0, both, "number", "typedef int number;\n"), "ww--");
}

TEST(KernelAccess, OnlyValuesThatDecideAreAskedFor) {
  const auto decidedBy = [](const std::string& body) {
    return ProgramAccess("__kernel void k(__global float* p, int n, int m) {" + body + "}", "")
        .kernel("k")
        .decided_by;
  };
  EXPECT_EQ(decidedBy("p[n] = m;"), std::vector<size_t>());
  EXPECT_EQ(decidedBy("if (m > 1) p[n] = m;"), std::vector<size_t>{2});
  EXPECT_EQ(decidedBy("if (p) p[0] = n ? 1 : m;"), std::vector<size_t>{1});
  EXPECT_EQ(decidedBy("n = 2; if (n) p[0] = 1;"), std::vector<size_t>());
}

TEST(KernelAccess, WhatATypeDecidesIsNotTakenForDead) {
  const auto writes = [](const std::string& condition, const std::string& options = "") {
    return of(
        "constant uchar kWrapped = 256; constant float kThree = 3; enum { kOne = 1, kNo };\n"
        "__kernel void k(__global int* p, int n) { if (" +
            condition + ") p[0] = 7; }",
        options);
  };
  for (const char* const condition : {"N - 1u > 0",
                                      "(int)0.5f == 0",
                                      "(uint)-1 > 0",
                                      "~0u > 5",
                                      "-1 == 0xFFFFFFFF",
                                      "(uchar)256 == 0",
                                      "!(-1 < 0u)",
                                      "(1 << 31) < 0",
                                      "1 << 32 >> 32",
                                      "(1 ? -1 : 0u) > 0",
                                      "16777217.0f == 16777216.0f",
                                      "0.1f + 0.2f != 0.3",
                                      "2147483647 + 1 < 0",
                                      "(unsigned char)-1 > 0",
                                      "(bool)2 == 1",
                                      "kWrapped == 0",
                                      "kThree / 2 > 1",
                                      "4294967295 == -1u",
                                      "1e-50f == 0",
                                      "(short)65536 == 0",
                                      "3.0f * 0.5f == 1.5f"}) {
    EXPECT_EQ(writes(condition, "-DN=0"), "w-") << condition;
  }
  for (const char* const condition :
       {"N", "1u > 2u", "(int)0.5f", "(uint)3 < 2", "0x10 != 16", "1 << 4 != 16", "-1 > 0",
        "kOne == 2", "3.0f * 0.5f != 1.5f", "kThree < 2.5f", "(uchar)255 != 255", "N ? 1 : 0"}) {
    EXPECT_EQ(writes(condition, "-DN=0"), "--") << condition;
  }
}

TEST(KernelAccess, NamesOfTheFunctionsOwnHideConstants) {
  const std::string before = "enum { A = 1, B = 0 }; constant int none = 0;\n";
  EXPECT_EQ(ofBody("int B = get_global_size(0); if (B) p[0] = 7;", before), "w--");
  EXPECT_EQ(ofBody("int x = 1, B = n; if (B) p[0] = 7;", before), "w--");
  EXPECT_EQ(ofBody("int none; none = n; if (none) p[0] = 7;", before), "w--");
  EXPECT_EQ(ofBody("if (n) { const int n = 0; } if (n) p[0] = 7;", before), "w--");
  const std::string on = "constant int on = 1;\n";
  EXPECT_EQ(ofBody("{ const int on = 0; } if (on) p[0] = 7;", on), "w--");
  EXPECT_EQ(ofBody("if (on) p[0] = 7; const int on = 0;", on), "w--");
  EXPECT_EQ(ofBody("{ const int on = 0; if (on) p[0] = 7; }", on), "---");
  EXPECT_EQ(ofBody("const uchar c = 256; if (c == 0) p[0] = 7;", before), "w--");
  EXPECT_EQ(ofBody("if (B || none) p[0] = 7;", before), "---");
}

TEST(KernelAccess, ABranchThatBeginsWithALabelCanBeReached) {
  EXPECT_EQ(ofBody("if (0) x: { p[0] = 7; return; } if (n) goto x;"), "w--");
  EXPECT_EQ(ofBody("if (1) ; else x: p[0] = 7; if (n) goto x;"), "w--");
}

TEST(KernelAccess, WhatTheCompilerDefinesIsOpen) {
  for (const char* const condition :
       {"#if INT_MAX > 5", "#ifdef FP_FAST_FMAF", "#ifdef INFINITY", "#if M_PI_F", "#if -1 > 0u",
        "#if defined(CHAR_BIT)", "#if HALF_DIG"}) {
    EXPECT_EQ(of(std::string(condition) + "\nkernel void k(global int* p) { p[0] = 7; }\n#else\n"
                                          "kernel void k(global int* p) { }\n#endif\n"),
              "w")
        << condition;
  }
}

TEST(KernelAccess, IncludedFiles) {
  IncludedFiles files;
  files.folder = "/run";
  files.by_path = {
      {"/run/inc/put.h", "#pragma once\n#include \"deep/get.h\"\n#define PUT(a, x) a[0] = x\n"},
      {"/run/inc/deep/get.h", "#ifndef GET\n#define GET(a) a[0]\n#endif\n"},
      {"/else/put.h", "#define PUT(a, x) x = a[0]\n"}};
  const auto access = [&](const std::string& first, const std::string& options) {
    const std::string source = first +
                               "\n#include \"put.h\"\n#include <put.h>\n"
                               "kernel void k(global int* p, global int* q) { PUT(p, GET(q)); }";
    const KernelAccess found = ProgramAccess(source, options, files).kernel("k");
    if (!found.is_known) return std::string("unknown");
    std::string text;
    for (const ArgumentAccess& a : found.arguments) {
      text += a.reads && a.writes ? 'b' : a.reads ? 'r' : a.writes ? 'w' : '-';
    }
    return text;
  };
  EXPECT_EQ(access("", "-I inc"), "wr");
  EXPECT_EQ(access("", "-I\"/run/inc\" -cl-fast-relaxed-math"), "wr");
  EXPECT_EQ(access("#define GET(a) a[0]", "-I/else -I inc"), "rw");
  EXPECT_EQ(access("", ""), "unknown");
  EXPECT_EQ(access("#define WHICH \"inc/put.h\"\n#include WHICH", "-I inc"), "wr");
  // One file with many names.
  IncludedFiles tree;
  tree.folder = "/run";
  tree.by_path = {{"/run/inc/a.h", "#pragma once\n#include \"../inc/./b.h\"\n"},
                  {"/run/inc/b.h", "#pragma once\n#include \"../inc/a.h\"\n#define W p[0] = 1\n"}};
  const KernelAccess found =
      ProgramAccess("#include \"./inc/../inc/a.h\"\nkernel void k(global int* p) { W; }", "", tree)
          .kernel("k");
  EXPECT_TRUE(found.is_known && found.arguments.at(0).writes);
  // A file that includes itself endlessly.
  files.by_path["/run/put.h"] = "#include \"put.h\"\n";
  EXPECT_EQ(access("", ""), "unknown");
}

TEST(KernelAccess, PointersThatAreLostAreUnknown) {
  EXPECT_EQ(ofBody("somewhere(p, n); q[0] = 1;"), "uw-");
  EXPECT_EQ(ofBody("kept = p; helper(); float x = q[0];",
                   "__global float* kept; void helper() { kept[0] = 1; }"),
            "ur-");
  EXPECT_EQ(ofBody("asm(\"st\");"), "uu-");
}

TEST(KernelAccess, CallsAreFollowed) {
  const std::string helpers =
      "float get(__global const float* a, int i) { return a[i]; }\n"
      "static void put(__global float* a, float x) { *a = x; }\n"
      "__global float* shifted(__global float* a, int n);\n"
      "__global float* shifted(__global float* a, int n) { return a + n; }\n"
      "void swap2(__global float* a, __global float* b) { float t = *a; *a = *b; *b = t; }\n"
      "void loop(__global float* a, int n) { if (n) loop(a, n - 1); }\n";
  EXPECT_EQ(ofBody("put(p + n, get(q, 1));", helpers), "wr-");
  EXPECT_EQ(ofBody("*shifted(p, 2) = shifted(q, n)[1];", helpers), "wr-");
  EXPECT_EQ(ofBody("swap2(p, q);", helpers), "bb-");
  EXPECT_EQ(ofBody("loop(p, 3); put(q, 1);", helpers), "uw-");
}

TEST(KernelAccess, BuiltInFunctions) {
  EXPECT_EQ(ofBody("vstore4(vload4(0, q), n, p);"), "wr-");
  EXPECT_EQ(ofBody("atomic_add((volatile __global int*)p, 1); atomic_load(q);"), "br-");
  EXPECT_EQ(ofBody("__local float t[4]; event_t e = async_work_group_copy(t, p, 4, 0); "
                   "wait_group_events(1, &e); async_work_group_copy(q, t, 4, 0);"),
            "rw-");
  EXPECT_EQ(ofBody("float i; p[0] = fract(q[0], &i); prefetch(q, 4);"), "wr-");
  EXPECT_EQ(ofBody("float w = sincos(1.0f, p); q[0] = as_float(as_int(w));"), "ww-");
  EXPECT_EQ(ofBody("printf(\"%p %f\", p, q[0]);"), "-r-");
}

TEST(KernelAccess, QualifiersOfParameters) {
  EXPECT_EQ(of("kernel void k(constant float* a, global const float* restrict b, local int* c,"
               " read_only image2d_t d, write_only image2d_t e, read_write image3d_t f,"
               " image2d_t g, sampler_t h, float4 i) { unknown_function(b, a); }"),
            "rr-rwbr--");
  EXPECT_EQ(of("typedef global float* floats; kernel void k(floats a, const floats b) "
               "{ a[0] = b[0]; }"),
            "wr");
  EXPECT_EQ(of("kernel void k(global float a[], global const float* b) "
               "{ ((global float*)b)[0] = a[0]; }"),
            "rw")
      << "a cast that takes const away";
  EXPECT_EQ(of("__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k(__global int* a) "
               "{ __attribute__((opencl_unroll_hint(4))) for (int i = 0; i < 4; ++i) a[i] = i; }"),
            "w");
}

TEST(KernelAccess, Comments) {
  EXPECT_EQ(ofBody("/* p[0] = 1; */ // q[0] = 2;\n float x = p[0]; // \\\n q[0] = x;\n"), "r--");
  EXPECT_EQ(ofBody("printf(\"p[0] = 1; /* \"); q[0] = 1; /* \" */"), "-w-");
}

TEST(KernelAccess, Macros) {
  const std::string k = "kernel void k(global T* p, global T* q) { ";
  EXPECT_EQ(of(k + "PUT(p, q[0]); }", "-DT=float -D PUT(a,b)=1"), "unknown");
  EXPECT_EQ(of("#define PUT(a, b) do { (a)[0] = (b); } while (0)\n" + k + "PUT(p, q[0]); }",
               "-D T=float"),
            "wr");
  EXPECT_EQ(of("#define NAME(x) kernel void x##_run(global float* p) { p[0] = 1; }\nNAME(k)", "",
               "k_run"),
            "w");
  EXPECT_EQ(of("#if WIDE > 1 && defined(WIDE)\n#define OUT p\n#else\n#define OUT q\n#endif\n" + k +
                   "OUT[0] = 1; }",
               "-DWIDE=2 -DT=int"),
            "w-");
  EXPECT_EQ(of("#ifdef cl_khr_fp64\ntypedef double T;\n#else\ntypedef float T;\n#endif\n" + k +
               "\n#if __OPENCL_VERSION__ >= 200\np[0] = 1;\n#else\nq[0] = p[0];\n#endif\n}"),
            "bw")
      << "whatever the compiler had";
  EXPECT_EQ(of("#define A B\n#define B A\nkernel void k(global int* A) { A[0] = 1; }"), "w");
  EXPECT_EQ(of("#define PUT(a, ...) a[0] = sum(__VA_ARGS__)\n#define LOG(f, ...) q[0] = 1, ## "
               "__VA_ARGS__\n"
               "int sum(int a, int b) { return a + b; }\n" +
                   k + "PUT(p, 1, 2); LOG(1); }",
               "-DT=int"),
            "ww");
  EXPECT_EQ(of("#include \"other.h\"\nkernel void k(global int* a) { a[0] = 1; }"), "unknown");
  EXPECT_EQ(of("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nkernel void k(global int* a) "
               "{ a[0] = 1; }"),
            "w");
}

TEST(KernelAccess, WhatIsNoProgramIsUnknown) {
  EXPECT_EQ(of(""), "unknown");
  EXPECT_EQ(of("kernel void k(global int* a) { a[0] = 1; "), "unknown");
  EXPECT_EQ(of("kernel void k(global int* a) { a[0] = ; }"), "u");
  EXPECT_EQ(of("kernel void other(global int* a) { a[0] = 1; }"), "unknown");
  EXPECT_EQ(of("/* kernel void k("), "unknown");
  EXPECT_EQ(of("void k(global int* a) { }"), "unknown") << "no kernel";
}

TEST(KernelAccess, HostileSourceTakesLittleTime) {
  const auto repeated = [](std::string_view part, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += part;
    return text;
  };
  const size_t kBytes = kMostSourceBytes / 16;  // what grows with the square takes far longer
  std::string doubling = "#define A0 p[0] = 1;\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    doubling += "#define A" + std::to_string(i) + " " + before + " " + before + "\n";
  }
  std::string nothing = doubling;
  nothing.replace(nothing.find("p[0] = 1;"), 9, "");
  std::string chain = "void f0(global int* p) { p[0] = 1; }\n";
  for (int i = 1; i < 5'000; ++i) {
    chain +=
        "void f" + std::to_string(i) + "(global int* p) { f" + std::to_string(i - 1) + "(p); }\n";
  }
  const std::string head = "kernel void k(global int* p) { ";
  const std::string sources[] = {head + repeated("(", kBytes),
                                 head + repeated("p[", kBytes) + "}",
                                 head + repeated("{", kBytes / 2) + repeated("}", kBytes / 2),
                                 head + repeated("-", kBytes) + "}",
                                 repeated("#if __X\n", kBytes),
                                 repeated("/*", kBytes),
                                 head + repeated("a = b; b = c; c = p; ", kBytes / 8) + "}",
                                 repeated("struct a { ", kBytes),
                                 doubling + head + "A59 }",
                                 nothing + head + "A59 }",
                                 chain + head + "f4999(p); }",
                                 repeated("\\\n", kBytes),
                                 "#define F(a) a\n" + repeated("F(", kBytes),
                                 "#define F(a) a\n" + head + repeated("F(", 60) +
                                     repeated("p[0] = 1;", kBytes) + repeated(")", 60) + "}",
                                 "#define M a" + repeated("##a", kBytes) + "\n" + head + "M }",
                                 std::string(16 << 20, ' ')};
  const auto time_of = [](const std::string& source) {
    const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
    (void)of(source);
    return clockNs(CLOCK_PROCESS_CPUTIME_ID) - from;
  };
  const int64_t of_plain_source = time_of(head + repeated("p[0] = p[1]; ", kBytes) + "}");
  for (const std::string& source : sources) {
    EXPECT_LT(time_of(source), 40 * of_plain_source) << source.substr(0, 60);
  }
}

TEST(KernelAccess, WhatMacrosMakeTakesNoMoreThanSomeMegabytes) {
  std::string pasted = "#define M a";
  while (pasted.size() < 1u << 20) pasted += "##a";
  for (const SourceTokens& each : tokensOfSource(pasted + "\nM\n", "")) {
    size_t bytes = 0;
    for (const std::string& text : each.made) bytes += text.size();
    EXPECT_LT(bytes, 64u << 20);
    EXPECT_FALSE(each.understood);
  }
}

TEST(KernelAccess, ManyFoldersTakeLittleTime) {
  std::string options, source;
  for (int i = 0; i < 100'000; ++i) options += "-Ifolder" + std::to_string(i) + " ";
  for (int i = 0; i < 5'000; ++i) source += "#include <x.h>\n";
  IncludedFiles files;
  files.folder = "/run";
  files.by_path["/run/x.h"] = "";
  const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  (void)tokensOfSource(source, options, files);
  EXPECT_LT(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from, 10'000'000'000);
}

}  // namespace
}  // namespace tracesmith::races
