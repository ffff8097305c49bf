//! The service over a real socket, with its store in memory and a clock that tests move.

mod access;
mod calls;
mod common;
mod dashboard;
mod device;
mod error_form;
mod export;
mod golden;
mod heavy;
mod limits;
mod logs;
mod neighbours;
mod personalizer;
mod releases;
mod repeated;
mod stalled;
