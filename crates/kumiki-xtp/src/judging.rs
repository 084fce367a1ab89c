//! Whether a packet of a context can be true. What looks here cannot write; see the rule of [`super::arrivals`].
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P1, P4 and P36 (what cannot be true), P31 and P32 (closes), P37 to P39 (groups) |
//! | The caller's part | to count a refusal and to answer it |
//! | Left out | reports to a transmitter, which are those of one receiver: `group::transmitting` judges them before they count |

use kumiki_wire::xtp::{self, Control, Diagnosis, Options, Span, code, val};

use super::context::Endpoint;
use super::error::ControlError;
use super::packet::{Arrived, Body};
use super::send::Writer;

/// Why a packet counts for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketRejection {
    pub(crate) why: &'static str,
    /// What its sender is told; none where the peer has not written it.
    pub(crate) answer: Option<Diagnosis>,
}

const fn lie(val: u32) -> PacketRejection {
    PacketRejection { why: "says what cannot be true", answer: Some(Diagnosis { code: code::PROTOCOL_ERROR, val }) }
}

const LIE: PacketRejection = lie(val::UNSPECIFIED);

const fn quietly(why: &'static str) -> PacketRejection {
    PacketRejection { why, answer: None }
}

impl Endpoint {
    /// Looks at all of a packet that can be wrong, room for its data apart.
    pub(super) fn judge(&self, packet: &Arrived) -> Result<(), PacketRejection> {
        let header = packet.header;
        let is_diagnosis = matches!(packet.body, Body::Diag(_));
        if !is_diagnosis && packet.has(Options::MULTI) == self.part.is_pair() {
            return Err(quietly("MULTI and the context do not fit"));
        }
        if self.part.is_transmitter() {
            return Ok(());
        }
        let mut begin = None;
        let told = match &packet.body {
            Body::Diag(_) => return Ok(()),
            Body::Control { control, spans, join, .. } => {
                if self.part.is_pair() {
                    if join.is_some() {
                        return Err(quietly("JCNTL for a context of two"));
                    }
                    self.judge_control(control, spans)?;
                    if packet.has(Options::RCLOSE) && control.rseq != self.send.board.nxt() {
                        return Err(LIE);
                    }
                } else if let Some(address) = join
                    && header.key.is_returned()
                {
                    self.judge_admission(address)?;
                    begin = self.part.is_joining().then_some(control.rseq);
                }
                self.receive.end_told(header.seq)
            }
            Body::Data { text, .. } | Body::First { text, .. } => {
                if self.part.is_receiver() && !packet.group {
                    return Err(quietly("a group's data for one host"));
                }
                let is_first = matches!(packet.body, Body::First { .. });
                let begins = header.seq == 0 && !header.key.is_returned() && self.passive;
                if is_first && !begins {
                    return Err(quietly("FIRST that begins nothing"));
                }
                Some(header.seq.saturating_add(text.len() as u64))
            }
        };
        if packet.has(Options::RCLOSE) && !self.may_be_confirmed() {
            return Err(LIE);
        }
        if let Some(end) = told.filter(|_| packet.has(Options::WCLOSE))
            && !self.receive.may_close_at(end, begin)
        {
            return Err(LIE);
        }
        Ok(())
    }

    /// Whether a report can be true: nobody echoes what was not asked, or has what was not sent.
    pub(super) fn judge_control(&self, control: &Control, spans: &[Span]) -> Result<(), PacketRejection> {
        if !self.asking.is_possible(control.echo) {
            return Err(LIE);
        }
        let board = &self.send.board;
        board.check(control.rseq, spans).map_err(|found| match found {
            ControlError::NeverSent => lie(val::INVALID_RETRANSMISSION),
            ControlError::Spans => LIE,
        })
    }

    /// JCNTL from the transmitter: of our group, and from the host whose stream it is (P39).
    fn judge_admission(&self, address: &xtp::Address) -> Result<(), PacketRejection> {
        let xtp::Address::Ip { destination, source, .. } = address else {
            return Err(quietly("JCNTL without addresses"));
        };
        let known = self.remote.ip();
        if !self.is_member_of(*destination) {
            Err(quietly("JCNTL of another group"))
        } else if self.part.is_joining() && !known.is_unspecified() && known != source.ip() {
            Err(quietly("JCNTL of another host than the stream"))
        } else {
            Ok(())
        }
    }

    /// RCLOSE can be: the peer was told where our stream ends (P32).
    fn may_be_confirmed(&self) -> bool {
        match self.send.writer {
            Writer::Closed => true,
            Writer::Closing => self.send.is_all_sent() && self.wclose_told,
            Writer::Open => false,
        }
    }
}
