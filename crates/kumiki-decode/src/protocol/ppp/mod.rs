//! PPP, its lines, and MAPOS.

pub(in crate::protocol) mod cisco_hdlc;
pub(in crate::protocol) mod lqr;
pub(in crate::protocol) mod mapos;
#[expect(clippy::module_inception, reason = "the family has the name of its protocol")]
pub(in crate::protocol) mod ppp;
pub(in crate::protocol) mod ppp_auth;
pub(in crate::protocol) mod ppp_control;
pub(in crate::protocol) mod sdh;
