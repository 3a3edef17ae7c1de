//! `calibrate`, and what `devices` makes of it.

use crate::tool::Place;

/// The binary with its calibration in a file of the place.
fn run(place: &Place, args: &str, file: &str) -> (i32, String, String) {
    let output = place.command(args).env("POLYSORT_CALIBRATION", place.path(file)).output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("it was not killed"), text(output.stdout), text(output.stderr))
}

#[test]
fn what_is_measured_is_what_auto_chooses_by() {
    let place = Place::new();
    let (_, before, _) = run(&place, "devices", "in/here/calibration");
    assert!(before.contains("by the built-in table"), "{before}");
    let (code, out, errors) = run(&place, "calibrate", "in/here/calibration");
    assert_eq!((code, &*errors), (0, ""), "{out}");
    assert!(out.contains("measuring rayon") && out.contains("as measured on this machine"), "{out}");
    let text = String::from_utf8(place.read("in/here/calibration")).expect("text");
    assert!(text.starts_with("polysort calibration 1\n"), "{text}");
    let (_, after, _) = run(&place, "devices", "in/here/calibration");
    assert!(after.contains("as measured on this machine"), "{after}");
    // What is told are the numbers of the file.
    let cores = text.lines().find_map(|line| line.strip_prefix("cores 4 0 ")).expect("a line for keys of 4 bytes");
    let few: f64 = cores.split(' ').next().and_then(|cost| cost.parse().ok()).expect("a number");
    assert!(after.contains(&format!("{:.0} us for 2^10 keys", few / 1000.0)), "{after}{text}");
    // A sort is served by it.
    place.write("a.bin", [3, 1, 2]);
    assert_eq!(run(&place, "sort a.bin --dtype u8 -o a.bin", "in/here/calibration").0, 0);
    assert_eq!(place.read("a.bin"), [1, 2, 3]);
}

#[test]
fn tuned_shapes_stay_when_costs_are_measured() {
    let tuned = "tuned 1 0 384 14 4 wgpu A card (Vulkan)\ntuned 2 1 512 10 2 wgpu A card (Vulkan)\n";
    let place = Place::with("calibration", format!("polysort calibration 1\n{tuned}"));
    // Shapes are no costs, and those of another device say nothing.
    let (code, before, errors) = run(&place, "devices", "calibration");
    assert_eq!((code, &*errors), (0, ""));
    assert!(before.contains("by the built-in table") && !before.contains("as tuned"), "{before}");
    assert_eq!(run(&place, "calibrate", "calibration").0, 0);
    let text = String::from_utf8(place.read("calibration")).expect("text");
    assert!(text.starts_with("polysort calibration 1\nthreads ") && text.ends_with(tuned), "{text}");
    assert!(run(&place, "devices", "calibration").1.contains("as measured on this machine"));
}

#[test]
fn a_file_that_is_no_calibration_is_passed_over() {
    for text in ["polysort calibration 1\nthreads many\n", "polysort calibration 1\ntuned 1 0 0 0 0 wgpu A card\n"] {
        let place = Place::with("calibration", text);
        let (code, out, _) = run(&place, "devices", "calibration");
        assert_eq!(code, 0);
        assert!(out.contains("by the built-in table"), "{out}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told_of() {
    let place = Place::with("file", "");
    let (code, _, errors) = run(&place, "calibrate", "file/calibration");
    assert_eq!(code, 2);
    assert!(errors.starts_with("polysort: cannot store the calibration: "), "{errors}");
}
