//! The constants that publications print, in one place, and the parameters of core's learners that have them.
//!
//! Core has no publication in it. Its learners take noise of a given size, a given confidence set and a [`Claim`](reticent::privacy::Claim) to be
//! compared with as parameters; `paper` mode is these numbers handed to them, and the guarantee is the accountant's as always. What a
//! publication says nothing about is refused here.
//!
//! | file | source |
//! | --- | --- |
//! | [`joint`] | Shariff and Sheffet (2018), paper 1: the Gaussian and the Wishart tree |
//! | [`local`] | Zheng et al. (2020), the public code of Chowdhury and Zhou (2022), and paper 0's message |
//! | [`online_ucb`] | paper 0: the printed noise, the constants of its theory and of its figure |
//! | [`safe`] | Zibaie et al., paper 3: the agents' noise, Theorems 2 and 3 |
//! | [`convex`] | Ene, Nguyen and Vladu, paper 4; Garber and Kretzu (2020); Smith and Thakurta (2013) |
//! | [`regret`] | their theorems on regret, as numbers |
//! | `problem` | what those theorems speak of |

pub mod convex;
pub mod joint;
pub mod local;
pub mod online_ucb;
mod problem;
pub mod regret;
pub mod safe;

pub use problem::Problem;
