//! Every error that a user can make: exit code 2, one line that says what to do, and no file touched, made or left behind.

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
    place.write("t.csv", "id,height,name\n1,2.5,a\n2,,b\n3,tall,c\n");
    place.write("ragged.csv", "a,b\n1,2\n3\n");
    place.write("twins.csv", "a,a\n1,2\n");
    place.write("empty.csv", "");
    place.write("unknown.dat", [0; 4]);
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place
}

/// Runs it, and wants one line with all of `words` and nothing changed.
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
    refuse("sort unknown.dat -o out.bin", &["unknown.dat", "does not tell a format", "--format npy, bin or csv"]);
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
    refuse("sort four.bin --dtype u128 -o out.npy", &["cannot hold u128", "write a .bin"]);
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
        &["short.npy is cut short", "promises 100 keys of f32, 400 bytes, but 399 bytes follow"],
    );
    refuse("sort lying.npy -o out.npy", &["lying.npy is cut short", "but 8 bytes follow"]);
    refuse("sort long.npy -o out.npy", &["long.npy goes on after the 1 keys"]);
    refuse("sort flat.npy -o flat.npy", &["flat.npy", "2 dimensions, (2, 3)", "a.ravel()"]);
    refuse("sort fortran.npy -o out.npy", &["fortran.npy", "2 dimensions, (2, 3) in Fortran order", "a.ravel()"]);
    refuse("sort scalar.npy -o out.npy", &["scalar.npy", "0 dimensions"]);
    refuse("sort struct.npy -o out.npy", &["struct.npy", "structures", "'a'", "save one field"]);
    refuse("sort complex.npy -o out.npy", &["complex.npy", "<c16"]);
    refuse("sort text.npy -o out.npy", &["text.npy", "is no .npy"]);
    refuse("sort header.npy -o out.npy", &["header.npy", "ends before its header"]);
    refuse("sort damaged.npy -o out.npy", &["damaged.npy", "header is damaged"]);
    refuse("sort good.npy --dtype f64 -o out.npy", &["good.npy holds f32, not f64", "leave out --dtype"]);
    refuse("top -k 1 good.npy -o out.npy", &["only a .csv can hold"]);
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
    refuse("sort t.csv --column id -o out.npy", &["can only be written as .csv"]);
    refuse("top -k 1 t.csv --column id -o out.bin", &["can only be written as .csv"]);
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
    refuse("sort good.npy --bits 8..40 -o out.npy", &["8..40", "32 bits"]);
    refuse("argsort good.npy --bits 9..8 -o out.npy", &["9..8"]);
    refuse("verify good.npy --bits ..33", &["0..33"]);
    refuse("top -k 1 good.npy --bits 0..33", &["0..33"]);
}

/// clap has more than one line to say, and also exit code 2.
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
        ("bench --sweep --keys u32,u128", "no passes over keys of 128 bits are tuned, which --sweep is for"),
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
