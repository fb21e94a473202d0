// SPDX-License-Identifier: Apache-2.0
//! Finds libtracesmith.so: in TRACESMITH_LIB_DIR, or by pkg-config.

fn main() {
    println!("cargo:rerun-if-env-changed=TRACESMITH_LIB_DIR");
    if std::env::var_os("DOCS_RS").is_some() {
        return; // docs.rs builds the documentation without the library
    }
    if let Ok(folder) = std::env::var("TRACESMITH_LIB_DIR") {
        assert!(
            std::path::Path::new(&folder).join("libtracesmith.so").exists(),
            "TRACESMITH_LIB_DIR is {folder}, where there is no libtracesmith.so"
        );
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=dylib=tracesmith");
    } else if let Err(problem) =
        pkg_config::Config::new().atleast_version("1.0").probe("tracesmith")
    {
        panic!(
            "libtracesmith.so was not found. Build and install TraceSmith (`script/build`, \
             `cmake --install build/release --prefix ...`) and set PKG_CONFIG_PATH to its \
             lib/pkgconfig, or set TRACESMITH_LIB_DIR to the folder with the library.\n{problem}"
        );
    }
}
