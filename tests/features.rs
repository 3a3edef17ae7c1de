//! A feature pulls in what it names, and nothing else: checked with `cargo tree`.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that a program depends on through `polysort` with these features, on a target.
fn crates(features: &str, target: &str) -> BTreeSet<String> {
    crates_of("polysort", features, target)
}

/// The crates that a program depends on through `package`, one of this workspace, with these features, on a target.
fn crates_of(package: &str, features: &str, target: &str) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(env!("CARGO_MANIFEST_DIR"));
    tree.args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    tree.args(["--no-default-features", "--features", features, "--target", target]);
    let output = tree.output().expect("cargo runs");
    let (names, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    names.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

const LINUX: &str = "x86_64-unknown-linux-gnu";

const APIS: [&str; 4] = ["dx12", "metal", "vulkan", "webgpu"];

/// Each of these crates comes with these features only.
#[test]
fn each_feature_pulls_in_what_it_names() {
    let with_wgpu = ["wgpu", "dx12", "metal", "vulkan", "webgpu"];
    let of_features = [
        ("polysort-rayon", &["rayon", "calibration", "multi"][..]),
        ("polysort-multi", &["multi"]),
        ("dirs", &["calibration"]),
        ("polysort-wgpu", &with_wgpu),
        ("wgpu", &with_wgpu),
        // The crate that loads Vulkan.
        ("ash", &["vulkan"]),
        // GPU plans know searches, so they need the contract.
        ("polysort-vector", &["calibration", "wgpu", "dx12", "metal", "vulkan", "webgpu", "vector"]),
        ("rand", &["vector"]),
        ("polysort-derive", &["derive"]),
    ];
    for features in ["", "rayon", "calibration", "derive", "wgpu", "dx12", "metal", "multi", "vulkan", "webgpu", "vector"] {
        let crates = crates(features, LINUX);
        assert!(crates.contains("polysort-core") && crates.contains("polysort-fallback"), "{crates:?}");
        for (name, with) in of_features {
            assert_eq!(crates.contains(name), with.contains(&features), "{name} with the features {features:?}: {crates:?}");
        }
    }
}

/// A library that links the GPU backend depends on these crates, and on no other: on no graphics API, no rayon, no `dirs`, no `rand`.
#[test]
fn linking_the_gpu_backend_adds_these_crates() {
    let facade = crates("wgpu", LINUX);
    let mut alone = crates_of("polysort-wgpu", "", LINUX);
    insta::assert_snapshot!("crates_of_polysort_wgpu", Vec::from_iter(alone.clone()).join("\n"));
    alone.extend(["polysort", "polysort-fallback"].map(String::from));
    assert_eq!(facade, alone, "the facade adds itself and its fallback");
}

/// The API of another system adds crates of that system at most.
#[test]
fn a_graphics_api_works_on_its_systems_only() {
    let on_a_mac = "aarch64-apple-darwin";
    let metals = crates("metal", on_a_mac);
    assert!(metals.contains("polysort-metal"), "{metals:?}");
    let is_apples = |name: &String| name.starts_with("objc2") || name.contains("metal");
    assert!(metals.iter().any(is_apples));
    let all = ["calibration,derive,rayon,vector", &APIS.join(",")].join(",");
    assert_eq!(crates(&all, LINUX).iter().find(|name| is_apples(name)), None);
    assert!(!crates("dx12,vulkan", on_a_mac).contains("ash"), "wgpu's Vulkan on Apple's systems is a feature of its own");
    assert!(crates("dx12", "x86_64-pc-windows-msvc").iter().any(|name| name == "windows"));
}
