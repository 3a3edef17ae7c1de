//! Builds the C++ peer x86-simd-sort, if the environment variable `POLYSORT_X86_SIMD_SORT` names the folder of its sources.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Its library files, and the processor that each is for.
const FILES: [(&str, &str); 5] = [
    ("x86simdsort.cpp", "x86-64"),
    ("x86simdsort-avx2.cpp", "haswell"),
    ("x86simdsort-skx.cpp", "skylake-avx512"),
    ("x86simdsort-icl.cpp", "icelake-client"),
    ("x86simdsort-spr.cpp", "sapphirerapids"),
];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(x86_simd_sort)");
    println!("cargo::rerun-if-env-changed=POLYSORT_X86_SIMD_SORT");
    println!("cargo::rerun-if-changed=peers/x86_simd_sort.cpp");
    let Some(folder) = std::env::var_os("POLYSORT_X86_SIMD_SORT").map(PathBuf::from) else { return };
    for (file, processor) in FILES {
        compile(&folder, &folder.join("lib").join(file), processor);
    }
    compile(&folder, Path::new("peers/x86_simd_sort.cpp"), "x86-64");
    // The OpenMP and C++ libraries of the compiler, in the program itself: it may run where there is neither.
    let archive = Command::new("g++").arg("-print-file-name=libgomp.a").output().expect("g++ is there, as it compiled the above");
    let archive = PathBuf::from(String::from_utf8(archive.stdout).expect("a path in UTF-8").trim());
    println!("cargo::rustc-link-search=native={}", archive.parent().expect("a folder of libraries").display());
    println!("cargo::rustc-link-lib=static:-bundle=gomp");
    println!("cargo::rustc-link-lib=static:-bundle=stdc++");
    println!("cargo::rustc-cfg=x86_simd_sort");
}

fn compile(folder: &Path, file: &Path, processor: &str) {
    let name = file.file_stem().and_then(|stem| stem.to_str()).expect("a file name in UTF-8");
    cc::Build::new()
        .cpp(true)
        .cpp_link_stdlib(None)
        .compiler("g++")
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .flag("-fopenmp")
        .define("XSS_USE_OPENMP", None)
        .flag(format!("-march={processor}"))
        .includes(["src", "lib", "utils"].map(|part| folder.join(part)))
        .file(file)
        .compile(&format!("peer-{name}"));
}
