//! Tables: rows move with their keys, unchanged.

use crate::tool::Place;

/// Equal keys, quotes that need not be, a comma and a line end in quotes, spaces, and a row of other bytes than UTF-8.
const TABLE: &[u8] = b"name,\"height, m\",id\n\
    \"plain\",20,a\n\
    \"with, comma\", 3 ,b\n\
    \"two\nlines\",-5,c\n\
    M\xfcller,20,d\n\
    \"a \"\"quote\"\"\",\"3\",e\n";

const ASCENDING: &[u8] = b"name,\"height, m\",id\n\
    \"two\nlines\",-5,c\n\
    \"with, comma\", 3 ,b\n\
    \"a \"\"quote\"\"\",\"3\",e\n\
    \"plain\",20,a\n\
    M\xfcller,20,d\n";

const DESCENDING: &[u8] = b"name,\"height, m\",id\n\
    \"plain\",20,a\n\
    M\xfcller,20,d\n\
    \"with, comma\", 3 ,b\n\
    \"a \"\"quote\"\"\",\"3\",e\n\
    \"two\nlines\",-5,c\n";

#[test]
fn rows_move_whole_and_stably() {
    let place = Place::with("t.csv", TABLE);
    let column = "1";
    assert_eq!(place.run(&format!("sort t.csv --column {column}")).ok(), ASCENDING);
    assert_eq!(place.run(&format!("sort t.csv --column {column} --descending")).ok(), DESCENDING);
    let by_name = place.command("sort t.csv --column").arg("height, m").output().expect("the binary runs");
    assert_eq!(by_name.stdout, ASCENDING);
    for dtype in ["i8", "i128", "f16", "bf16", "f32", "f64"] {
        assert_eq!(place.run(&format!("sort t.csv --column 1 --dtype {dtype}")).ok(), ASCENDING, "{dtype}");
    }
    place.run("sort t.csv --column 1 -o t.csv").ok();
    assert_eq!(place.read("t.csv"), ASCENDING);
    assert_eq!(place.files().len(), 1);
}

#[test]
fn without_a_header_every_line_is_a_row() {
    let place = Place::with("t.csv", "3,x\n1,y\n2,z\n");
    assert_eq!(place.run("sort t.csv --no-header --column 0").text(), "1,y\n2,z\n3,x\n");
    // With one, the first line stays, and there is a word about it.
    let ran = place.run("sort t.csv --column 0");
    assert_eq!((ran.code, &*String::from_utf8_lossy(&ran.stdout)), (0, "3,x\n1,y\n2,z\n"));
    assert!(ran.stderr.starts_with("polysort: note: ") && ran.stderr.contains("--no-header"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
}

#[test]
fn one_column_needs_no_name() {
    let place = Place::new();
    assert_eq!(place.pipe("sort --format csv", b"x\n3\n-1\n2\n").text(), "x\n-1\n2\n3\n");
    assert_eq!(place.pipe("sort --format csv --no-header", b"3\n-1\n2").text(), "-1\n2\n3\n");
    assert_eq!(place.pipe("sort --format csv --no-header", b"").text(), "");
    assert_eq!(place.pipe("sort --format csv", b"x\n").text(), "x\n");
}

#[test]
fn a_column_of_the_name_comes_before_one_of_the_index() {
    let table = b"2,1,0\n1,9,5\n2,8,7\n3,7,6\n";
    let sorted = Place::new().pipe("sort --format csv --column 1", table);
    assert!(sorted.stdout.starts_with(b"2,1,0\n3,7,6\n2,8,7\n"));
    let sorted = Place::new().pipe("sort --format csv --column 0", table);
    assert_eq!(sorted.stdout, b"2,1,0\n1,9,5\n3,7,6\n2,8,7\n");
}

/// The dtype that is found out is exact: these differ by less than an `f64` can tell, the last two by less than an `i64` can hold.
#[test]
fn integers_are_not_rounded() {
    let place = Place::new();
    let sorted = place.pipe("sort --format csv", b"x\n9007199254740993\n9007199254740992\n").text();
    assert_eq!(sorted, "x\n9007199254740992\n9007199254740993\n");
    let sorted = place.pipe("sort --format csv", b"x\n18446744073709551615\n18446744073709551614\n").text();
    assert_eq!(sorted, "x\n18446744073709551614\n18446744073709551615\n");
    let found = |table: &[u8]| place.pipe("verify --format csv", table).text();
    assert_eq!(found(b"x\n1\n2\n"), "stdin: sorted ascending, 2 i64 keys\n");
    assert_eq!(found(b"x\n1\n18446744073709551615\n"), "stdin: sorted ascending, 2 i128 keys\n");
    assert_eq!(found(b"x\n1\n1.5\n"), "stdin: sorted ascending, 2 f64 keys\n");
}

#[test]
fn floats_are_in_total_order() {
    let sorted = Place::new().pipe("sort --format csv", b"x\nNaN\n1e3\ninf\n0\n-0.0\n-inf\n.5\n").text();
    assert_eq!(sorted, "x\n-inf\n-0.0\n0\n.5\n1e3\ninf\nNaN\n");
}

#[test]
fn empty_fields_can_be_nan() {
    let (place, table) = (Place::new(), b"k,v\n,a\n2,b\n ,c\n1,d\n");
    assert_eq!(place.pipe("sort --format csv --column k --empty nan", table).text(), "k,v\n1,d\n2,b\n,a\n ,c\n");
    assert_eq!(place.pipe("sort --format csv --column k --empty nan --descending", table).text(), "k,v\n,a\n ,c\n2,b\n1,d\n");
}

#[test]
fn line_ends_and_byte_order_mark_stay() {
    let place = Place::new();
    let sorted = place.pipe("sort --format csv --column k", b"\xef\xbb\xbfk,v\r\n2,a\r\n1,b").ok();
    assert_eq!(sorted, b"\xef\xbb\xbfk,v\r\n1,b\r\n2,a\r\n");
    let sorted = place.pipe("sort --format csv --no-header --column 0", b"\xef\xbb\xbf2,a\n1,b\n").ok();
    assert_eq!(sorted, b"\xef\xbb\xbf1,b\n2,a\n");
}

#[test]
fn bits_of_a_column() {
    let sorted = Place::new().pipe("sort --format csv --dtype u8 --bits 0..4", b"x\n31\n16\n33\n48\n").text();
    assert_eq!(sorted, "x\n16\n48\n33\n31\n");
}

#[test]
fn the_top_rows() {
    let place = Place::with("t.csv", TABLE);
    assert_eq!(place.run("top -k 3 t.csv --column 1").ok(), &DESCENDING[..DESCENDING.len() - 37]);
    assert_eq!(place.run("top -k 1 --smallest t.csv --column 1").ok(), b"name,\"height, m\",id\n\"two\nlines\",-5,c\n");
    place.run("top -k 99 t.csv --column 1 -o t.csv").ok();
    assert_eq!(place.read("t.csv"), DESCENDING);
}
