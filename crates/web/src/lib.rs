//! A person's half as WebAssembly: what a page, a worker or Node needs to choose by a model and to report, and nothing of the server's half.
//!
//! | file | what it is |
//! | --- | --- |
//! | `half` | [`reticent::device::Device`] with bytes and JSON in place of types |
//! | `sealed` | the same of a loop with a shuffler: a module of its own, by the feature of this name |
//! | `exports` | the functions that JavaScript calls |
//! | `random` | keys from `crypto.getRandomValues`, and from nowhere else |
//!
//! The JavaScript beside it (`js/`) keeps the ledger in storage and counts a report before it lets it go.

mod half;
#[cfg(feature = "sealed")]
mod sealed;

#[cfg(target_arch = "wasm32")]
mod exports;
#[cfg(target_arch = "wasm32")]
mod random;

pub use half::{Half, Status};
#[cfg(feature = "sealed")]
pub use sealed::SealedHalf;
