//! ATM.

pub(in crate::protocol) mod aal34;
pub(in crate::protocol) mod aal5;
pub(in crate::protocol) mod atm_arp;
pub(in crate::protocol) mod cell;
pub(in crate::protocol) mod llc_snap;
pub(in crate::protocol) mod oam;
pub(in crate::protocol) mod rm;
pub(in crate::protocol) mod sunatm;
