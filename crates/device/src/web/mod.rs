//! Devices for JavaScript: one WebAssembly module for pages, workers and Node, with no part of the server.
//!
//! | file | contents |
//! | --- | --- |
//! | `device` | [`Device`](crate::Device) and [`SealedDevice`](crate::sealed::SealedDevice) with bytes and JSON in place of types |
//! | `exports` | the functions that JavaScript calls |
//! | `random` | keys from `crypto.getRandomValues`, and from no other source |
//!
//! The last two are built by `cargo xtask web` alone (`--cfg little`): other programs for WebAssembly that use this crate export nothing of it.

mod device;
#[cfg(all(little, target_arch = "wasm32"))]
mod exports;
#[cfg(all(little, target_arch = "wasm32"))]
mod random;

pub use device::{Status, WebDevice};
