//! The application of a host.

use crate::Tagged;
use crate::WithTags;
use std::collections::VecDeque;

use kumiki_graph::*;
use kumiki_octets::Message;

/// An application that does as it is told, and writes down what it hears.
#[derive(Default)]
pub(crate) struct App {
    /// Requests to make when poked.
    pub(crate) todo: Vec<Request>,
    pub(crate) heard: Vec<String>,
    pub(crate) received: Vec<u8>,
    /// Where messages ended.
    pub(crate) ends: Vec<usize>,
    /// Where tags stood.
    pub(crate) tags: Vec<(usize, [u8; 8])>,
    /// The provider's handle of the context, and of the passive open.
    pub(crate) session: Option<Handle>,
    pub(crate) listener: Option<Handle>,
    pub(crate) offers: Vec<Handle>,
    pub(crate) credit: u64,
    pub(crate) outbox: VecDeque<(Message, Option<[u8; 8]>, bool)>,
    /// For opening and accepting.
    pub(crate) quality: Quality,
    pub(crate) release_when_sent: bool,
    pub(crate) release_when_released: bool,
    /// Do not give credit back.
    pub(crate) lazy: bool,
    /// Do not take offers.
    pub(crate) idle: bool,
    pub(crate) refuse_offers: bool,
    /// Several contexts: each is released as soon as it is offered.
    pub(crate) over: bool,
}

impl App {
    fn pump(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.session else {
            return;
        };
        while self.credit > 0 {
            let Some((mut data, tag, end)) = self.outbox.pop_front() else {
                break;
            };
            let len = data.len() as u64;
            let mut ends = end;
            if len > self.credit {
                let front = data.split_to(self.credit as usize).unwrap();
                let rest = core::mem::replace(&mut data, front);
                self.outbox.push_front((rest, None, end));
                ends = false;
            }
            self.credit -= data.len() as u64;
            let end = ends;
            let request = match tag {
                Some(tag) => Request::special(session, Tagged { tag, data, end }),
                None => Request::Data { session, data, end },
            };
            cx.down(Below(0), request);
        }
        if self.release_when_sent && self.outbox.is_empty() {
            self.release_when_sent = false;
            let data = None;
            cx.down(Below(0), Request::Release { session, data });
        }
    }

    fn got(&mut self, session: Handle, data: &Message, tag: Option<[u8; 8]>, end: bool, cx: &mut Context<'_>) {
        assert!(!data.is_empty(), "data without octets");
        assert_eq!(session, Handle::default());
        let credit = Credit::octets(data.len() as u64);
        self.tags.extend(tag.map(|tag| (self.received.len(), tag)));
        self.received.extend(data.to_vec());
        if end {
            self.ends.push(self.received.len());
        }
        if !self.lazy {
            let session = self.session.unwrap();
            cx.down(Below(0), Request::Credit { session, credit });
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
                let session = offered.provider;
                self.offers.push(session);
                if self.refuse_offers {
                    let (reason, data) = (Reason::User, None);
                    let refusal = Request::Abort { session, reason, data };
                    cx.down(Below(0), refusal);
                    return;
                }
                if let Some(data) = offered.data {
                    self.received.extend(data.to_vec());
                }
                if !self.idle {
                    self.session = Some(session);
                    cx.down(Below(0), accept(session, self.quality));
                }
            }
            Indication::Data { session, data, end } => self.got(session, &data, None, end, cx),
            Indication::Special { session, what } => {
                let Tagged { tag, data, end } = *what.take().expect("XTP has tags alone");
                self.got(session, &data, Some(tag), end, cx);
            }
            Indication::Credit { credit, .. } => {
                self.credit += credit.octets;
                self.pump(cx);
            }
            Indication::Released { .. } => {
                self.heard.push("released".into());
                if self.release_when_released {
                    let (session, data) = (self.session.unwrap(), None);
                    cx.down(Below(0), Request::Release { session, data });
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
            Indication::Notice { notice, .. } => self.heard.push(format!("notice: {notice:?}")),
            Indication::Report(_) => {}
            Indication::Unit(_) | Indication::Expedited { .. } | Indication::Reset { .. } => {
                panic!("unexpected {indication:?}")
            }
        }
    }
}

pub(crate) fn accept(session: Handle, quality: Quality) -> Request {
    Request::Accept(Box::new(Accept {
        session,
        user: Handle::default(),
        quality,
        parameters: Parameters::of(WithTags),
        ..Accept::default()
    }))
}
