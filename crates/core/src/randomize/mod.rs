//! What a person's own device does to a report before it leaves: one file per local randomiser.
//!
//! | randomiser | for | guarantee |
//! | --- | --- | --- |
//! | [`PrivUnit`] | a unit vector, least variance | pure, exactly calibrated |
//!
//! Every randomiser is built once from public parameters, names its cost with `event()`, and turns one input
//! into one report with `randomize(input, noise)`.

mod priv_unit;

pub use priv_unit::PrivUnit;
