//! The service over a real socket, with its store in memory and a clock that tests move.

mod access;
mod alerts;
mod calls;
mod common;
mod export;
mod limits;
mod logs;
mod personalizer;
mod releases;
