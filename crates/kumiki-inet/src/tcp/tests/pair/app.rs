//! The application of a host.

use std::collections::VecDeque;

use kumiki_graph::*;
use kumiki_octets::Message;

use super::accept;
use crate::tcp::UrgentAhead;

/// An application that does as it is told, and writes down what it hears.
#[derive(Default)]
pub(crate) struct App {
    /// Requests to make when poked.
    pub(crate) todo: Vec<Request>,
    pub(crate) heard: Vec<String>,
    pub(crate) received: Vec<u8>,
    pub(crate) pushes: usize,
    /// The provider's handle of the connection, and of the passive open.
    pub(crate) session: Option<Handle>,
    pub(crate) listener: Option<Handle>,
    pub(crate) offers: Vec<Handle>,
    pub(crate) credit: u64,
    pub(crate) outbox: VecDeque<Message>,
    /// Wait with each write until there is credit for all of it.
    pub(crate) whole_writes: bool,
    pub(crate) release_when_sent: bool,
    pub(crate) release_when_released: bool,
    /// Do not take received data, and do not take offers.
    pub(crate) idle: bool,
    pub(crate) refuse_offers: bool,
    pub(crate) over: bool,
}

impl App {
    fn pump(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.session else {
            return;
        };
        while self.credit > 0 {
            let Some(mut data) = self.outbox.pop_front() else {
                break;
            };
            let len = data.len() as u64;
            if len > self.credit {
                if self.whole_writes {
                    self.outbox.push_front(data);
                    break;
                }
                let front = data.split_to(self.credit as usize).unwrap();
                self.outbox.push_front(core::mem::replace(&mut data, front));
            }
            self.credit -= data.len() as u64;
            let end = true;
            cx.down(Below(0), Request::Data { session, data, end });
        }
        if self.release_when_sent && self.outbox.is_empty() {
            self.release_when_sent = false;
            cx.down(Below(0), Request::Release { session, data: None });
        }
    }
}

impl Protocol for App {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM, Service::FRAME], below: (2, 2), keys: Vec::new() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from == Below(1) {
            for request in core::mem::take(&mut self.todo) {
                cx.down(Below(0), request);
            }
            self.pump(cx);
            return;
        }
        match indication {
            Indication::Opened(opened) => {
                if opened.remote == Address::NONE {
                    self.listener = Some(opened.provider);
                } else {
                    self.heard.push("opened".into());
                    self.session = Some(opened.provider);
                }
            }
            Indication::Offered(offered) => {
                self.heard.push("offered".into());
                self.offers.push(offered.provider);
                let session = offered.provider;
                if self.refuse_offers {
                    let reason = Reason::User;
                    cx.down(Below(0), Request::Abort { session, reason, data: None });
                } else if !self.idle {
                    self.session = Some(session);
                    cx.down(Below(0), accept(session));
                }
            }
            Indication::Data { data, end, .. } => {
                let credit = Credit::octets(data.len() as u64);
                self.received.extend(data.to_vec());
                self.pushes += usize::from(end);
                if !self.idle {
                    let session = self.session.unwrap();
                    cx.down(Below(0), Request::Credit { session, credit });
                }
            }
            Indication::Credit { credit, .. } => {
                self.credit += credit.octets;
                self.pump(cx);
            }
            Indication::Released { .. } => {
                self.heard.push("released".into());
                if self.release_when_released {
                    self.outbox.clear();
                    let session = self.session.unwrap();
                    cx.down(Below(0), Request::Release { session, data: None });
                }
            }
            Indication::Closed { .. } => {
                self.over = true;
                self.heard.push("closed".into());
            }
            Indication::Aborted { reason, .. } => {
                self.over = true;
                self.heard.push(format!("aborted: {reason:?}"));
            }
            Indication::Special { what, .. } => {
                let UrgentAhead { octets } = what.get().unwrap();
                let at = self.received.len();
                self.heard.push(format!("urgent: {octets} after {at}"));
            }
            Indication::Report(report) if matches!(*report, Report::Special(_)) => self.heard.push("withdrawn".into()),
            Indication::Notice { notice, .. } => self.heard.push(format!("notice: {notice:?}")),
            Indication::Unit(_) | Indication::Expedited { .. } | Indication::Reset { .. } | Indication::Report(_) => {
                panic!("unexpected {indication:?}")
            }
        }
    }
}
