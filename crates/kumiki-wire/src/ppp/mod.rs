//! PPP, the framing and lines that carry it, and MAPOS.

pub mod hdlc;
pub mod mapos;
#[expect(clippy::module_inception, reason = "the family has the name of its protocol")]
pub mod ppp;
pub mod sdh;
