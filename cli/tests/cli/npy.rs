//! The .npy format written and read by hand, as the binary does it with a crate.

/// A version 1.0 file with any description and shape.
pub(crate) fn file(descr: &str, shape: &str, fortran: bool, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let descr = if descr.starts_with('[') { descr.to_string() } else { format!("'{descr}'") };
    let mut header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A one-dimensional array.
pub(crate) fn array(descr: &str, len: usize, data: &[u8]) -> Vec<u8> {
    file(descr, &format!("({len},)"), false, data)
}

/// The description and the data of a one-dimensional array of `len` elements.
pub(crate) fn parse(file: &[u8], len: usize) -> (String, Vec<u8>) {
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let header_len = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = core::str::from_utf8(&file[10..10 + header_len]).expect("the header is text").replace(' ', "");
    assert!(header.contains("'fortran_order':False"), "{header}");
    assert!(header.contains(&format!("'shape':({len},)")), "{header}");
    let descr = header.split_once("'descr':'").expect("a description").1.split_once('\'').expect("its end").0;
    (descr.into(), file[10 + header_len..].to_vec())
}
