//! What is decoded: octets of real peers, cells, mistakes made on purpose, and tshark beside us.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod any;
mod arrange;
mod captures;
mod cells;
mod ftam;
mod internet6;
mod judge;
mod lan;
mod mapos;
mod mistakes;
mod mms;
mod osi;
mod ppp;
mod sdh;
mod sequences;
mod x25;
mod xtp;
