//! What needs no clock but a virtual one, in one program: each program of tests is linked with tokio, TCP and the
//! simulator for itself.
#![allow(missing_docs)]

mod cancel;
mod clocks;
mod faults;
mod gateway;
mod limits;
mod moving;
mod repeat;
mod sharing;
mod streams;
#[cfg(feature = "tonic")]
mod tonic;
mod zoo;
