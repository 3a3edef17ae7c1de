//! Large pages for large buffers: a fault for 2 MiB rather than 4 KiB, and writes all over a buffer that miss no address translation.
#![allow(unsafe_code, reason = "a call of the system")]

/// Asks the system to back `buffer` by large pages, where it has a choice. Its contents stay. The advice holds as long as the memory is mapped.
pub(crate) fn advise_huge_pages(buffer: &mut [u8]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = buffer.as_ptr().align_offset(PAGE).min(buffer.len());
        let whole = (buffer.len() - start) / PAGE * PAGE;
        let pages = &mut buffer[start..start + whole];
        // SAFETY: the pages are borrowed by this function alone, and the advice, which outlives the borrow, changes nothing but what backs them. It may be refused, which does no
        // harm.
        unsafe {
            libc::madvise(pages.as_mut_ptr().cast(), pages.len(), libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}
