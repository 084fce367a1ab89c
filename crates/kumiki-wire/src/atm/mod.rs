//! ATM: cells, adaptation layers, and what stands between them and IP.

pub mod aal34;
pub mod aal5;
pub mod atm_arp;
pub mod cell;
