//! The .npy format, written and read by hand. The binary uses a crate instead.

/// Returns a file of version 1.0 with any description and shape. A description that is no string is given as Python writes it.
pub(crate) fn file(descr: &str, shape: &str, fortran: bool, data: &[u8]) -> Vec<u8> {
    let header = header(descr, shape, fortran);
    versioned(1, header.len() as u32, &header, data)
}

/// Returns a header as numpy writes it.
pub(crate) fn header(descr: &str, shape: &str, fortran: bool) -> String {
    let fortran = if fortran { "True" } else { "False" };
    let descr = if descr.starts_with(['[', '(', 'N']) { descr.to_string() } else { format!("'{descr}'") };
    let mut header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    header
}

/// Returns a file of any version, which declares any length of its header.
pub(crate) fn versioned(version: u8, declared: u32, header: &str, data: &[u8]) -> Vec<u8> {
    let length = declared.to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length[..] };
    [b"\x93NUMPY", &[version, 0][..], length, header.as_bytes(), data].concat()
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
