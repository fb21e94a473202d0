// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_access.hpp"

#include <gtest/gtest.h>

#include "tracesmith/base/clock.hpp"

namespace tracesmith::races {
namespace {

/// A letter an argument: - neither, r, w, b both, u both because nobody knows; "unknown" for a
/// kernel of which nothing is known.
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
/// The same for a body with p and q to global memory and a number n.
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

TEST(KernelAccess, PointersThatAreLostAreUnknown) {
  EXPECT_EQ(ofBody("__global float* all[2]; all[0] = p; all[1][0] = q[0];"), "ur-");
  EXPECT_EQ(ofBody("__global float* r = p; __global float** rr = &r; **rr = q[0];"), "ur-");
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
  const size_t kBytes = kMostSourceBytes / 4;
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
                                 head + repeated("p[0] = p[1]; ", kBytes) + "}",
                                 head + repeated("-", kBytes) + "}",
                                 repeated("#if __X\n", kBytes),
                                 repeated("/*", kBytes),
                                 head + repeated("a = b; b = c; c = p; ", kBytes / 8) + "}",
                                 repeated("struct a { ", kBytes),
                                 doubling + head + "A59 }",
                                 nothing + head + "A59 }",
                                 chain + head + "f4999(p); }",
                                 repeated("\\\n", kBytes),
                                 std::string(16 << 20, ' ')};
  for (const std::string& source : sources) {
    const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
    (void)of(source);
    EXPECT_LT(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from, 10'000'000'000) << source.substr(0, 60);
  }
}

}  // namespace
}  // namespace tracesmith::races
