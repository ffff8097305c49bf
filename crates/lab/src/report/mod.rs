//! Reports: trials -> estimates with intervals -> tables, figures, pages and files.
//!
//! | file | holds |
//! | --- | --- |
//! | [`estimate`] | means, quantiles and intervals over trials; trials that are stuck |
//! | [`summary`] | the results of an experiment as tables, JSON and figures |
//! | [`figure`] | drawings as SVG and PNG |
//! | [`html`] | self-contained pages |

pub mod estimate;
pub mod figure;
pub mod html;
pub mod summary;
