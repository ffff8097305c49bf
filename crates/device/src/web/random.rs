//! Randomness from JavaScript's `crypto.getRandomValues`, and from nowhere else.
//!
//! `getrandom` is built with `--cfg getrandom_backend="custom"`, so that there is no other source that it could fall back to.

// The function that `getrandom` looks for has a fixed name and takes a pointer.
#![allow(unsafe_code)]

use getrandom::Error;

#[link(wasm_import_module = "reticent")]
unsafe extern "C" {
    /// Fills memory with bytes of `crypto.getRandomValues`; other than 0 if there are none.
    fn random_bytes(start: *mut u8, length: usize) -> i32;
}

/// # Safety
/// `start` points to `length` bytes that may be written.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(start: *mut u8, length: usize) -> Result<(), Error> {
    // SAFETY: the caller's promise; JavaScript writes these bytes and no others.
    match unsafe { random_bytes(start, length) } {
        0 => Ok(()),
        _ => Err(Error::UNSUPPORTED),
    }
}
