//! Every error of a user: the exit code is 2, one line says what to do, and no file is changed, created or left behind.

use crate::npy;
use crate::tool::Place;

/// Files of every kind, good and bad.
fn place() -> Place {
    let place = Place::new();
    place.write("four.bin", [1, 2, 3, 4]);
    place.write("ten.bin", [0; 10]);
    place.write("good.npy", npy::array("<f4", 2, &[0; 8]));
    place.write("short.npy", npy::array("<f4", 100, &[0; 399]));
    place.write("lying.npy", npy::array("<f8", 1 << 60, &[0; 8]));
    place.write("long.npy", npy::array("<f4", 1, &[0; 5]));
    place.write("flat.npy", npy::file("<f4", "(2, 3)", false, &[0; 24]));
    place.write("fortran.npy", npy::file("<f4", "(2, 3)", true, &[0; 24]));
    place.write("scalar.npy", npy::file("<f4", "()", false, &[0; 4]));
    place.write("struct.npy", npy::file("[('a', '<f4'), ('b', '<i2')]", "(1,)", false, &[0; 6]));
    place.write("complex.npy", npy::array("<c16", 1, &[0; 16]));
    place.write("text.npy", "this is no array");
    place.write("header.npy", &npy::array("<f4", 2, &[0; 8])[..40]);
    place.write(
        "damaged.npy",
        npy::array("<f4", 2, &[0; 8]).into_iter().map(|b| if b == b':' { b'(' } else { b }).collect::<Vec<_>>(),
    );
    let header = npy::header("<f4", "(2,)", false);
    place.write("absurd.npy", npy::versioned(2, u32::MAX, &header, &[0; 8]));
    place.write("fourth.npy", npy::versioned(4, header.len() as u32, &header, &[0; 8]));
    let deep = npy::header("<f4", &format!("{}1{}", "(".repeat(3_000), ",)".repeat(3_000)), false);
    place.write("deep.npy", npy::versioned(1, deep.len() as u32, &deep, &[]));
    // The parser would take minutes for 16 brackets.
    let unclosed = "{".repeat(16);
    place.write("unclosed.npy", npy::versioned(1, unclosed.len() as u32, &unclosed, &[]));
    // 2400 groups, which fill a header, take the parser 9 s without optimization.
    let nested = format!("{{{{{{{{{}", "{1},".repeat(240));
    place.write("nested.npy", npy::versioned(1, nested.len() as u32, &nested, &[]));
    place.write("product.npy", npy::file("<f8", "(18446744073709551615, 18446744073709551615)", false, &[0; 8]));
    place.write("wide.npy", npy::file("<f8", "(18446744073709551616,)", false, &[0; 8]));
    place.write("most.npy", npy::file("<f8", "(18446744073709551615,)", false, &[0; 8]));
    place.write("negative.npy", npy::file("<f8", "(-1,)", false, &[0; 8]));
    place.write("half.npy", npy::file("<f8", "(0.5,)", false, &[0; 8]));
    place.write("subarray.npy", npy::file("('<f4', (2,))", "(1,)", false, &[0; 8]));
    place.write("nothing.npy", npy::file("None", "(1,)", false, &[0; 8]));
    place.write("object.npy", npy::array("|O", 1, &[0; 8]));
    place.write("date.npy", npy::array("<M8[ns]", 1, &[0; 8]));
    place.write("quadruple.npy", npy::array("<f16", 1, &[0; 16]));
    place.write("orderless.npy", npy::array("|f4", 1, &[0; 4]));
    place.write("string.npy", npy::array("é", 1, &[0; 4]));
    place.write("shapeless.npy", npy::versioned(1, 37, "{'descr': '<f4', 'fortran_order': 0 }", &[0; 4]));
    place.write("t.csv", "id,height,name\n1,2.5,a\n2,,b\n3,tall,c\n");
    place.write("ragged.csv", "a,b\n1,2\n3\n");
    place.write("twins.csv", "a,a\n1,2\n");
    place.write("empty.csv", "");
    place.write("unknown.dat", [0; 4]);
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place
}

/// Runs the binary. It must write one line with all of `words` to stderr, and change nothing.
fn refuse(args: &str, words: &[&str]) {
    let place = place();
    let before = place.files();
    let ran = place.run(args);
    let said = &ran.stderr;
    assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{args}: {said}");
    assert!(said.starts_with("polysort: ") && said.ends_with('\n') && said.lines().count() == 1, "{args}: {said}");
    for word in words {
        assert!(said.contains(word), "{args}: no {word:?} in: {said}");
    }
    assert!(place.files() == before, "{args}: {:?}", place.files().keys());
}

#[test]
fn files_that_cannot_be_read() {
    refuse("sort nothing.npy -o out.npy", &["cannot read nothing.npy"]);
    refuse("sort folder --format bin --dtype u8 -o out.bin", &["folder", "is a directory"]);
    refuse("sort unknown.dat -o out.bin", &["unknown.dat", "does not imply a format", "--format npy, bin or csv"]);
    refuse("sort", &["stdin", "--format npy, bin or csv"]);
}

#[test]
fn raw_keys() {
    refuse(
        "sort ten.bin --dtype u32 -o out.bin",
        &["ten.bin has 10 bytes", "no multiple of the 4 of a u32", "2 keys and 2 bytes"],
    );
    refuse("sort four.bin --dtype i128 -o four.bin", &["four.bin has 4 bytes", "the 16 of a i128"]);
    refuse("sort four.bin -o out.bin", &["four.bin", "add --dtype"]);
    refuse("sort four.bin --dtype u128 -o out.npy", &["out.npy", "cannot hold u128", "write a .bin"]);
    refuse("sort four.bin --dtype bf16 -o out.npy", &["cannot hold bf16", "write a .bin"]);
    for option in ["--column 0", "--no-header", "--empty nan"] {
        let name = option.split(' ').next().expect("a name");
        refuse(&format!("sort four.bin --dtype u8 {option} -o out.bin"), &[name, "is for .csv, but four.bin is a .bin"]);
    }
}

#[test]
fn arrays() {
    refuse(
        "sort short.npy -o short.npy",
        &["short.npy is cut short", "declares 100 keys of f32, 400 bytes, but 399 bytes follow"],
    );
    refuse("sort lying.npy -o out.npy", &["lying.npy is cut short", "but 8 bytes follow"]);
    refuse("sort long.npy -o out.npy", &["long.npy goes on after the 1 keys"]);
    refuse("sort flat.npy -o flat.npy", &["flat.npy", "2 dimensions, (2, 3)", "a.ravel()"]);
    refuse("sort fortran.npy -o out.npy", &["fortran.npy", "2 dimensions, (2, 3) in Fortran order", "a.ravel()"]);
    refuse("sort scalar.npy -o out.npy", &["scalar.npy", "0 dimensions"]);
    refuse("sort struct.npy -o out.npy", &["struct.npy", "structures", "'a'", "save one field"]);
    refuse("sort complex.npy -o out.npy", &["complex.npy", "<c16"]);
    refuse("sort text.npy -o out.npy", &["text.npy", "is no .npy"]);
    refuse("sort absurd.npy -o out.npy", &["absurd.npy", "declares 4294967295 bytes", "at most 10000"]);
    refuse("sort fourth.npy -o out.npy", &["fourth.npy", "version 4.0", "np.save"]);
    refuse("sort deep.npy -o out.npy", &["deep.npy", "header is damaged", "5 brackets"]);
    refuse("sort unclosed.npy -o out.npy", &["unclosed.npy", "header is damaged", "5 brackets"]);
    refuse("sort nested.npy -o out.npy", &["nested.npy", "header is damaged", "no dictionary"]);
    let product = "2 dimensions, (18446744073709551615, 18446744073709551615)";
    refuse("sort product.npy -o out.npy", &["product.npy", product, "a.ravel()"]);
    refuse("sort wide.npy -o out.npy", &["wide.npy", "its length is 18446744073709551616"]);
    refuse("sort most.npy -o out.npy", &["most.npy is cut short", "147573952589676412920 bytes, but 8 bytes follow"]);
    refuse("sort negative.npy -o out.npy", &["negative.npy", "its length is -1"]);
    refuse("sort half.npy -o out.npy", &["half.npy", "header is damaged: its shape is "]);
    refuse("sort subarray.npy -o out.npy", &["subarray.npy", "structures, ('<f4', (2,))"]);
    refuse("sort nothing.npy -o out.npy", &["nothing.npy", "header is damaged", "its descr is None"]);
    for (name, descr) in [("object", "|O"), ("date", "<M8[ns]"), ("quadruple", "<f16"), ("orderless", "|f4")] {
        refuse(
            &format!("sort {name}.npy -o out.npy"),
            &[&format!("{name}.npy"), &format!("its elements are '{descr}', which is none of b1, u1,")],
        );
    }
    refuse("sort string.npy -o out.npy", &["string.npy", "its elements are '"]);
    refuse("sort shapeless.npy -o out.npy", &["shapeless.npy", "lacks descr, fortran_order or shape"]);
    refuse("sort header.npy -o out.npy", &["header.npy", "ends before its header"]);
    refuse("sort damaged.npy -o out.npy", &["damaged.npy", "header is damaged"]);
    refuse("sort good.npy --dtype f64 -o out.npy", &["good.npy holds f32, not f64", "leave out --dtype"]);
    refuse("top -k 1 good.npy -o out.npy", &["out.npy: keys and their indices can only be written as .csv"]);
}

/// A header that declares more than there is must not make the binary allocate it. So a limit on memory changes no message.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_not_allocated_for_what_a_header_declares() {
    let place = place();
    // A file of so many bytes takes no room on the disk.
    let large = std::fs::File::create(place.path("large.bin")).expect("a file");
    large.set_len(1 << 36).expect("a sparse file");
    let limited = |script: &str| {
        // In units of 1024 bytes. The run reads as much as that allows.
        let ran = place.shell(&format!("ulimit -v 1000000; {script}"));
        assert_eq!((ran.code, &*ran.stdout, ran.stderr.lines().count()), (2, &b""[..], 1), "{script}: {}", ran.stderr);
        ran.stderr
    };
    for (name, words) in [
        ("absurd", "its header declares 4294967295 bytes"),
        (
            "lying",
            "is cut short: its header declares 1152921504606846976 keys of f64, 9223372036854775808 bytes, but 8 bytes follow",
        ),
        ("most", "is cut short: its header declares 18446744073709551615 keys"),
    ] {
        for script in [
            format!("polysort sort {name}.npy --backend rayon"),
            format!("cat {name}.npy | polysort sort --format npy --backend rayon"),
        ] {
            let said = limited(&script);
            assert!(said.contains(words), "{script}: {said}");
        }
    }
    let said = limited("polysort sort large.bin --dtype u32 --backend rayon");
    assert!(said.starts_with("polysort: cannot read large.bin: there is not enough memory for 6872"), "{said}");
    let said = limited("polysort sort large.bin --format csv --backend rayon");
    assert!(said.starts_with("polysort: cannot read large.bin: "), "{said}");
}

#[test]
fn tables() {
    refuse("sort t.csv --column weight -o t.csv", &["t.csv", "no column weight", "0 id, 1 height, 2 name"]);
    refuse("sort t.csv --column 3 -o t.csv", &["no column 3", "0 id, 1 height, 2 name"]);
    refuse("sort t.csv --no-header --column id", &["no column id", "3 columns, from 0"]);
    refuse("sort t.csv", &["add --column", "0 id, 1 height, 2 name"]);
    refuse("sort twins.csv --column a", &["2 columns are called a", "index"]);
    refuse("sort t.csv --column height", &["t.csv, line 3: column height is empty", "--dtype f64 --empty nan"]);
    refuse("sort t.csv --column height --dtype f32", &["line 3: column height is empty", "--empty nan"]);
    refuse("sort t.csv --column height --empty nan", &["t.csv, line 4: \"tall\" in column height does not fit dtype f64"]);
    refuse("sort t.csv --column height --empty nan --dtype u8", &["line 2: \"2.5\"", "does not fit dtype u8"]);
    refuse("sort ragged.csv --column a -o ragged.csv", &["ragged.csv, line 3: the number of fields is 1, but 2"]);
    refuse("sort empty.csv --column a", &["empty.csv is empty"]);
    refuse("sort t.csv --column id -o out.npy", &["out.npy", "can only be written as .csv"]);
    refuse("top -k 1 t.csv --column id -o out.bin", &["out.bin", "can only be written as .csv"]);
}

#[test]
fn an_empty_field_that_is_no_float() {
    let ran = Place::new().pipe("sort --format csv --empty nan --dtype i32", b"x,y\n");
    assert_eq!(ran.code, 2);
    let ran = Place::new().pipe("sort --format csv --empty nan --dtype i32 --column x", b"x,y\n1,2\n,3\n");
    assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]));
    assert!(ran.stderr.contains("stdin, line 3: column x is empty, and i32 has no NaN"), "{}", ran.stderr);
}

#[test]
fn outputs_that_cannot_be_written() {
    refuse("sort good.npy -o nowhere/out.npy", &["cannot write nowhere/out.npy", "no directory nowhere"]);
    refuse("sort good.npy -o folder", &["cannot write folder", "is a directory"]);
    // Found out before the input is read.
    refuse("sort nothing.npy -o nowhere/out.npy", &["cannot write nowhere/out.npy"]);
    refuse("bench --csv nowhere/out.csv", &["cannot write nowhere/out.csv"]);
}

#[test]
fn a_read_only_output() {
    let place = place();
    let mut permissions = std::fs::metadata(place.path("four.bin")).expect("it is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(place.path("four.bin"), permissions).expect("it is ours");
    let before = place.files();
    let ran = place.run("sort good.npy -o four.bin");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cannot write four.bin: it is read-only"), "{}", ran.stderr);
    assert!(place.files() == before);
}

#[test]
fn bits_outside_the_key() {
    refuse("sort good.npy --bits 8..40 -o out.npy", &["cannot sort good.npy", "8..40", "32 bits"]);
    refuse("argsort good.npy --bits 9..8 -o out.npy", &["cannot sort good.npy", "9..8"]);
    refuse("verify good.npy --bits ..33", &["cannot check good.npy", "0..33"]);
    refuse("top -k 1 good.npy --bits 0..33", &["cannot sort good.npy", "0..33"]);
}

/// The parser of the arguments writes more than one line. Its exit code is 2 too.
#[test]
fn arguments_that_do_not_exist() {
    let place = place();
    let before = place.files();
    let cases = [
        ("sort four.bin --dtype f31 -o out.bin", "invalid value 'f31' for '--dtype"),
        ("sort four.bin --dtype bool -o out.bin", "invalid value 'bool' for '--dtype"),
        ("sort four.bin --dtype u8 --backend abacus -o out.bin", "invalid value 'abacus' for '--backend"),
        ("sort four.bin --dtype u8 --bits 3 -o out.bin", "give a range of bits such as 8..16"),
        ("sort four.bin --format zip", "invalid value 'zip' for '--format"),
        ("top four.bin --dtype u8", "-k <K>"),
        ("bench --sizes 0", "give a number of keys such as 1000 or 2^20"),
        ("bench --sizes 2^200", "give a number of keys such as 1000 or 2^20"),
        ("bench --sweep --ops sort", "'--sweep' cannot be used with '--ops"),
        ("bench --sweep --keys u32,u128", "--sweep is for keys of up to 64 bits: leave u128, which has 128, out of --keys"),
        ("bench --probe --keys u32", "'--probe' cannot be used with '--keys"),
        ("bench --csv - --sweep", "'--csv <FILE>' cannot be used with '--sweep'"),
        ("bench --probe --algorithm onesweep", "'--probe' cannot be used with '--algorithm"),
        ("bench --sweep --probe", "cannot be used with"),
        ("bench --reps 0", "invalid value '0' for '--reps"),
        ("shuffle", "unrecognized subcommand 'shuffle'"),
    ];
    for (args, words) in cases {
        let ran = place.run(args);
        assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{args}");
        assert!(ran.stderr.contains(words), "{args}: {}", ran.stderr);
    }
    assert!(place.files() == before);
}
