//! XTP: so far its measurement of round trips and its congestion avoidance.

pub mod congestion;
pub mod rtt;
