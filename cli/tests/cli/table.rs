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
    // With a header, the first line stays, and a note says so.
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

/// The dtype that is chosen holds every key: these differ by less than an `f64` can show, the last two by more than an `i64` can hold.
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
fn integers_that_a_float_would_round_are_an_error_or_a_note() {
    let place = Place::new();
    for (options, field, rounded) in [
        ("", "9007199254740993", "9007199254740992"),
        ("", "-9007199254740993", "-9007199254740992"),
        ("", "9007199254740993.0", "9007199254740992"),
        ("--empty nan", "9007199254740993", "9007199254740992"),
        ("", "1000000000000000000000000000000000000000001", "1000000000000000044885712678075916785549312"),
    ] {
        let other = if options.is_empty() { "1.5" } else { "" };
        let table = format!("x\n{other}\n{field}\n9007199254740992\n");
        for command in ["sort", "argsort", "top -k 2", "verify"] {
            let ran = place.pipe(&format!("{command} --format csv {options}"), table.as_bytes());
            assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{field}");
            let words = format!(
                "polysort: stdin, line 3: f64 rounds {field} in column x to {rounded}; \
                to sort by the rounded numbers: --dtype f64\n"
            );
            assert_eq!(ran.stderr, words);
        }
        // The user may choose to sort by the rounded numbers. A note counts them.
        let ran = place.pipe(&format!("sort --format csv {options} --dtype f64"), table.as_bytes());
        let words = format!("polysort: note: stdin: f64 rounds integers of column x: 1, the first is {field} in line 3\n");
        assert_eq!((ran.code, &*ran.stderr), (0, &*words));
    }
    let ran = place.pipe("sort --format csv --dtype f32", b"x\n16777217\n16777216\n16777219\n");
    let words = "polysort: note: stdin: f32 rounds integers of column x: 2, the first is 16777217 in line 2\n";
    assert_eq!((ran.code, &*ran.stderr), (0, words));
    // These are exact.
    let table = b"x\n9007199254740994\n1.5\n-9007199254740992\n10000000000000000000000\n";
    assert_eq!(place.pipe("verify --format csv --descending", table).code, 1);
    place.pipe("sort --format csv", table).ok();
}

#[test]
fn a_number_that_is_too_large_for_a_float_is_an_error() {
    let place = Place::new();
    for (options, field) in [("", "1e309"), ("--dtype f64", "-1e999"), ("--dtype f16", "65536"), ("--dtype f32", "1e39")] {
        let ran = place.pipe(&format!("sort --format csv {options}"), format!("x\n1.5\n{field}\n").as_bytes());
        assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{field}");
        assert!(ran.stderr.contains(&format!("line 3: {field:?} in column x does not fit dtype f")), "{}", ran.stderr);
    }
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

/// Every row keeps its end of line. Only the last row of a file may have none; it gets that of the first line.
#[test]
fn line_ends_and_byte_order_mark_stay() {
    let place = Place::new();
    let sorted = |options: &str, table: &[u8]| place.pipe(&format!("sort --format csv {options}"), table).text();
    assert_eq!(sorted("--column k", b"\xef\xbb\xbfk,v\r\n2,a\r\n1,b"), "\u{feff}k,v\r\n1,b\r\n2,a\r\n");
    assert_eq!(sorted("--no-header --column 0", b"\xef\xbb\xbf2,a\n1,b\n"), "\u{feff}1,b\n2,a\n");
    // Each row with its own, also in a file where they differ, and in one with lone carriage returns.
    assert_eq!(sorted("--column k", b"k,v\n3,a\r\n2,b\n1,c\r\n"), "k,v\n1,c\r\n2,b\n3,a\r\n");
    assert_eq!(sorted("--column k", b"k,v\r3,a\r2,b\r"), "k,v\r2,b\r3,a\r");
    assert_eq!(sorted("", b"k\n2\r\n1"), "k\n1\n2\r\n");
    // One within quotes is no end of line, in the header, in a row, in a field of the last row.
    let quoted = b"\"k\r\ney\",v\n2,\"a\r\n\"\n1,\"\r\nb\"";
    assert_eq!(sorted("--column 0", quoted), "\"k\r\ney\",v\n1,\"\r\nb\"\n2,\"a\r\n\"\n");
    let quoted = b"\"k\ney\",v\r\n2,\"a\n\"\r\n1,b";
    assert_eq!(sorted("--column 0", quoted), "\"k\ney\",v\r\n1,b\r\n2,\"a\n\"\r\n");
}

#[test]
fn blank_rows_of_one_column_are_kept() {
    let place = Place::new();
    assert_eq!(place.pipe("sort --format csv --empty nan", b"x\n3\n\n1\n\r\n2\n\n").text(), "x\n1\n2\n3\n\n\r\n\n");
    assert_eq!(place.pipe("sort --format csv --empty nan --no-header", b"\n2\n\n1").text(), "1\n2\n\n\n");
    assert_eq!(place.pipe("sort --format csv --empty nan --no-header", b"\n\n").text(), "\n\n");
    let ran = place.pipe("sort --format csv", b"x\n3\n\n1\n");
    assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]));
    assert!(ran.stderr.starts_with("polysort: stdin, line 3: column x is empty"), "{}", ran.stderr);
    // The indices count them.
    assert_eq!(place.pipe("argsort --format csv --empty nan", b"x\n3\n\n1\n").text(), "2\n0\n1\n");
}

#[test]
fn blank_lines_between_rows_of_several_fields_are_left_out_with_a_note() {
    let ran = Place::new().pipe("sort --format csv --column k", b"\nk,v\n2,a\n\r\n\n1,b\n\n");
    assert_eq!((ran.code, &*String::from_utf8_lossy(&ran.stdout)), (0, "k,v\n1,b\n2,a\n"));
    let words = "polysort: note: stdin: blank lines are no rows and are left out: 4, the first is line 1\n";
    assert_eq!(ran.stderr, words);
}

#[test]
fn a_quote_that_is_never_closed_is_an_error() {
    let place = Place::new();
    for (table, line) in [
        (&b"k,v\n2,\"a\n1,b\n0,c\n"[..], 2),
        (b"k,v\r\n2,\"a\r\n\"\"\"\r\n1,b\r\n\"0,c\r\n", 5),
        (b"\"k,v\n1,2\n", 1),
        (b"k,v\n2,a\n1,\"", 3),
        // It is in no field of the key column, and in the only one.
        (b"k,v,w\n2,a,b\n1,\"\nx\n\",\"c\nd\n", 5),
        (b"k\n\"2\n1\n", 2),
    ] {
        for command in ["sort", "argsort", "top -k 1", "verify"] {
            let ran = place.pipe(&format!("{command} --format csv --column 0 -"), table);
            assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]));
            let words = format!("polysort: stdin, line {line}: the quote that opens here is never closed\n");
            assert_eq!(ran.stderr, words, "{}", String::from_utf8_lossy(table));
        }
    }
}

/// Names and fields may hold what moves the cursor of a terminal, sets its title, or looks like another line.
#[test]
fn what_messages_quote_is_printable() {
    let place = Place::with("a\x1b[2J\n.csv", "x\x1b]0;owned\x07,\"b\nc\",\u{202e}d\n1,2,3\n");
    let mut command = place.command("sort --column nothing");
    let ran = command.arg("a\x1b[2J\n.csv").output().expect("the binary runs");
    let said = String::from_utf8(ran.stderr).expect("messages are text");
    let words = r"polysort: a\u{1b}[2J\n.csv: there is no column nothing; it has 0 x\u{1b}]0;owned\u{7}, 1 b\nc, 2 \u{202e}d";
    assert_eq!((ran.status.code(), said.trim_end_matches('\n')), (Some(2), words));
    // Also on stdout.
    place.write("\x1b[31m.bin", [1]);
    let ran = place.command("verify --dtype u8").arg("\x1b[31m.bin").output().expect("the binary runs");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "\\u{1b}[31m.bin: sorted ascending, 1 u8 keys\n");
    // And not without end.
    let wide = (0..1000).map(|i| format!("c{i}")).collect::<Vec<_>>().join(",");
    let ran = place.pipe("sort --format csv", format!("{wide}\n").as_bytes());
    assert!(ran.stderr.ends_with("18 c18, 19 c19 and 980 more\n"), "{}", ran.stderr);
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
