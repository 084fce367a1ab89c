//! PAD messages of the other end: what they do to the parameters and the call (X.29 clause 3).

use kumiki_osi_service::x25::pad::{NotSet, Parameter};
use kumiki_osi_service::x25::{Facilities, diagnostic};
use kumiki_wire::x25::x29::{Message as PadMessage, Pair, Reselection, code, error};

use super::states::Event;
use super::{Context, Pad};

/// Whether this has characters stop the terminal or its output.
fn makes_stop(pair: &Pair) -> bool {
    let flows = [Parameter::Device, Parameter::Flow].map(Parameter::number);
    flows.contains(&pair.reference) && pair.value != 0
}

impl Pad {
    /// A message whose turn it is.
    pub(super) fn on_message(&mut self, octets: &[u8], is_long: bool, cx: &mut Context<'_>) {
        self.counters.messages_in += 1;
        let first = octets.first().copied();
        if is_long {
            return self.complain(error::LONG, first);
        }
        let message = match PadMessage::parse(octets) {
            Ok(message) => message,
            // An error message is not answered by one, however wrong.
            Err(_) if first == Some(code::ERROR) => return,
            Err(refused) => return self.complain(refused.error, first),
        };
        match message {
            PadMessage::Set(pairs) => {
                let told = self.set_by_host(&pairs);
                let wrong: Vec<Pair> = told.into_iter().filter(|pair| pair.error).collect();
                if !wrong.is_empty() {
                    self.say(&PadMessage::Indication(wrong));
                }
            }
            PadMessage::SetAndRead(pairs) => {
                let mut told = self.set_by_host(&pairs);
                if pairs.is_empty() {
                    told = self.read_by_host(&[]);
                }
                self.say(&PadMessage::Indication(told));
            }
            PadMessage::Read(pairs) => {
                let told = self.read_by_host(&pairs);
                self.say(&PadMessage::Indication(told));
            }
            PadMessage::Indication(pairs) => self.on_indication(&pairs, octets),
            PadMessage::Invitation => {
                self.clear(diagnostic::NONE, cx);
                self.signal("CLR PAD");
                self.prompt();
            }
            PadMessage::Break(pairs) => {
                if pairs.iter().any(|pair| *pair == Pair::new(Parameter::Discard.number(), 1)) {
                    self.parameters.put(Parameter::Discard, 1);
                }
                self.counters.breaks_lost += 1;
            }
            PadMessage::Error { .. } => {}
            PadMessage::Reselection(reselection) if self.config.reselection => {
                self.reselect(*reselection, cx);
            }
            PadMessage::Reselection(_) => self.complain(error::RESELECTION, first),
        }
    }

    fn complain(&mut self, kind: u8, code: Option<u8>) {
        let code = code.filter(|_| kind != error::SHORT);
        self.say(&PadMessage::Error { kind, code });
    }

    /// Sets what the host wants set: none of them, and all are as the terminal had them. Gives what is to be told of
    /// each.
    fn set_by_host(&mut self, pairs: &[Pair]) -> Vec<Pair> {
        if pairs.is_empty() {
            self.parameters = self.own;
        }
        let mut told = Vec::new();
        // Behind a separator stand parameters of a network, of which there are none here.
        let mut is_separated = false;
        for pair in pairs {
            is_separated |= pair.reference == 0;
            let done = if is_separated {
                Err(NotSet::Separator)
            } else if self.config.is_stream && makes_stop(pair) {
                Err(NotSet::Value)
            } else {
                self.parameters.set(pair.reference, pair.value)
            };
            told.push(answer(pair.reference, done.map(|()| pair.value)));
        }
        self.look_at_parameters();
        told
    }

    fn read_by_host(&self, pairs: &[Pair]) -> Vec<Pair> {
        if pairs.is_empty() {
            let all = self.parameters.iter();
            return all.map(|(number, value)| Pair::new(number, value)).collect();
        }
        let mut is_separated = false;
        let mut told = Vec::new();
        for pair in pairs {
            is_separated |= pair.reference == 0;
            let read = if is_separated { Err(NotSet::Separator) } else { self.parameters.read(pair.reference) };
            told.push(answer(pair.reference, read));
        }
        told
    }

    /// Parameters of the other end, where the terminal has asked for them.
    fn on_indication(&mut self, pairs: &[Pair], octets: &[u8]) {
        let asked = self.call.as_mut().is_some_and(|call| core::mem::take(&mut call.asks));
        if !asked {
            return self.complain(error::UNSOLICITED, octets.first().copied());
        }
        let told = |pair: &Pair| {
            if pair.error { format!("{}:INV", pair.reference) } else { format!("{}:{}", pair.reference, pair.value) }
        };
        let told: Vec<String> = pairs.iter().map(told).collect();
        self.signal(&format!("RPAR {}", told.join(", ")));
    }

    /// The call is cleared, and the one made that the host wants (X.29 clause 3.6).
    fn reselect(&mut self, reselection: Reselection, cx: &mut Context<'_>) {
        let once = core::mem::take(&mut self.config.once);
        self.clear(diagnostic::NONE, cx);
        self.config.once = once;
        self.signal("TRANSFER");
        let Reselection { called, facilities: Facilities(facilities), data } = reselection;
        self.go(Event::Answered);
        self.dial(called, Facilities(facilities), &data, cx);
    }
}

fn answer(reference: u8, done: Result<u8, NotSet>) -> Pair {
    Pair { reference, error: done.is_err(), value: done.unwrap_or_else(NotSet::code) }
}
