//! `science/...`: learners of the recent literature, and systems that others run, beside our defaults.
//!
//! Every learner is tuned over a grid of the same size on other seeds, and every table has means, medians and 95 % quantiles over trials. What loses is
//! reported as such and stays in the laboratory.
//!
//! | file | what it is |
//! | --- | --- |
//! | `fixed_arms` | `science/fixed_arms`: phased elimination and episodes beside the default, where arms are fixed and public |
//! | `fixed_places` | where those arms are |
//! | `episodes`, `episode_noise` | a learner of fixed arms that puts each person's reward into exactly one noisy sum; that noise with its proof |
//! | `blocks` | fixed arms, many people at a time |
//! | `design` | G-optimal designs over the arms that are left |
//! | `clicks` | `science/clicks`: linear and logistic learners of clicks |
//! | `click_world` | people who click or do not |
//! | `linearised` | working responses around the last released theta |
//! | `published_glm` | the generalised linear bandit of Sarmasarkar 2026 |
//! | `firefox` | `science/firefox`: interests by unary encoding, as Firefox's New Tab sends them, beside our randomisers |
//! | `whitening` | `science/whitening`: features that are whitened before they are randomised, or divided by sizes; its worlds and learners |
//! | `contest` | tuning on other seeds, cells of tables |

mod blocks;
mod click_world;
mod clicks;
mod contest;
mod design;
mod episode_noise;
mod episodes;
mod firefox;
mod fixed_arms;
mod fixed_places;
mod linearised;
mod published_glm;
mod whitening;

pub use clicks::clicks;
pub use firefox::firefox;
pub use fixed_arms::fixed_arms;
pub use whitening::whitening_of_features;
