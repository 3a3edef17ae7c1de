//! A feature pulls in what it names, and nothing else: checked with `cargo tree`.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that a program depends on through `polysort` with these features, on a target.
fn crates(features: &str, target: &str) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(env!("CARGO_MANIFEST_DIR"));
    tree.args(["tree", "--package", "polysort", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    tree.args(["--no-default-features", "--features", features, "--target", target]);
    let output = tree.output().expect("cargo runs");
    let (names, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    names.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

const LINUX: &str = "x86_64-unknown-linux-gnu";

/// Each of these crates comes with these features only.
#[test]
fn each_feature_pulls_in_what_it_names() {
    let of_features = [
        ("polysort-rayon", &["rayon", "calibration"][..]),
        ("dirs", &["calibration"]),
        ("polysort-wgpu", &["wgpu", "metal"]),
        ("wgpu", &["wgpu", "metal"]),
        // GPU plans know searches, so they need the contract.
        ("polysort-vector", &["calibration", "wgpu", "metal", "vector"]),
        ("rand", &["vector"]),
    ];
    for features in ["", "rayon", "calibration", "wgpu", "metal", "vector"] {
        let crates = crates(features, LINUX);
        assert!(crates.contains("polysort-core"), "{crates:?}");
        for (name, with) in of_features {
            assert_eq!(crates.contains(name), with.contains(&features), "{name} with the features {features:?}: {crates:?}");
        }
    }
}

#[test]
fn metal_adds_crates_on_apples_systems_only() {
    assert_eq!(crates("metal", LINUX), crates("wgpu", LINUX));
    let on_a_mac = crates("metal", "aarch64-apple-darwin");
    assert!(on_a_mac.contains("polysort-metal"), "{on_a_mac:?}");
    let is_apples = |name: &String| name.starts_with("objc2") || name.contains("metal");
    assert_eq!(crates("calibration,metal,rayon,vector,wgpu", LINUX).iter().find(|name| is_apples(name)), None);
}
