//! OSI: TPKT and transport class 0, session, presentation with BER, ACSE.

pub mod acse;
pub mod ber;
pub mod cotp;
pub mod presentation;
pub mod session;
pub mod tpkt;
