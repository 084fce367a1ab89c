//! Confirmed services both ways: their numbers, how many there may be, and what is rejected.

use kumiki_octets::Payload;
use kumiki_osi_service::layer;
use kumiki_osi_service::mms::{ErrorClass, RejectedPdu, Request as Asked, ServiceError};
use kumiki_wire::osi::ber;

use super::*;

/// cancel-Error: there is nothing of this number.
const INVOKE_ID_UNKNOWN: i64 = 1;
/// Error of class service: the answer does not fit.
const PDU_SIZE: i64 = 3;

impl Mms {
    /// The user's PDU.
    pub(super) fn send(&mut self, own: Handle, pdu: Pdu, cx: &mut Context<'_>) {
        if self.cell(own, Event::Send) != Some(Action::Send) {
            return cx.drop("not possible in this state of the environment");
        }
        let file = pdu.payload().map_or(0, Message::len);
        let Some(connection) = self.connection(own) else {
            return;
        };
        let longest = connection.longest();
        let over = match &pdu {
            Pdu::Request { invoke, service, .. } => {
                let used = connection.asked.contains_key(invoke);
                if used || connection.asked.len() >= connection.most_asked() {
                    return cx.drop("more services at a time than were agreed on");
                }
                connection.asked.insert(*invoke, service.service());
                None
            }
            Pdu::Response { invoke, .. } | Pdu::Error { invoke, .. } => {
                if !connection.pending.contains_key(invoke) {
                    return cx.drop("an answer to nothing");
                }
                Some(*invoke)
            }
            Pdu::Unconfirmed(_) | Pdu::CancelRequest(_) | Pdu::CancelResponse(_) | Pdu::CancelError { .. } => None,
            Pdu::Reject(reject) => reject.invoke,
            Pdu::InitiateRequest(_)
            | Pdu::InitiateResponse(_)
            | Pdu::InitiateError(_)
            | Pdu::ConcludeRequest
            | Pdu::ConcludeResponse
            | Pdu::ConcludeError(_) => return cx.drop("initiate and conclude are the layer's"),
        };
        let mut data = kumiki_wire::files::mms::emit(pdu);
        if data.len() > longest
            && let Some(invoke) = over
        {
            let error = ServiceError::new(ErrorClass::SERVICE, PDU_SIZE);
            data = kumiki_wire::files::mms::emit(Pdu::Error { invoke, error });
        }
        connection.out.push_back(QueuedSend::Pdu(data, over));
        connection.flush(cx);
        self.counters.sent += 1;
        self.counters.file_sent += file as u64;
    }

    /// What the peer has sent.
    pub(super) fn came(&mut self, own: Handle, values: Values, cx: &mut Context<'_>) {
        for value in values {
            self.in_hand = ber::beginning(&value.data);
            let Some(connection) = self.connection(own) else {
                return cx.drop("no such association");
            };
            if value.context != connection.context {
                let (pdu, code) = (RejectedPdu::PDU_ERROR, Reject::INVALID_PDU);
                let found = format!("a value in context {}, expected {}", value.context, connection.context);
                self.reject(own, Reject { invoke: None, pdu, code }, Some(found), cx);
                continue;
            }
            let invoke = kumiki_wire::files::mms::invoke_of(&value.data);
            match kumiki_wire::files::mms::parse(value.data) {
                Ok(pdu) => self.take(own, pdu, cx),
                Err(why) => {
                    let found = Some(why.to_string());
                    match invoke {
                        Some((pdu @ RejectedPdu::CONFIRMED_REQUEST, invoke)) => {
                            let (invoke, code) = (Some(invoke), Reject::INVALID_ARGUMENT);
                            self.reject(own, Reject { invoke, pdu, code }, found, cx);
                        }
                        Some((pdu, invoke)) => {
                            self.bad_answer(own, invoke, (pdu, Reject::RESPONSE_INVALID), found, cx);
                        }
                        None => {
                            let (pdu, code) = (RejectedPdu::PDU_ERROR, Reject::INVALID_PDU);
                            self.reject(own, Reject { invoke: None, pdu, code }, found, cx);
                        }
                    }
                }
            }
        }
        if let Some(connection) = self.connection(own) {
            connection.took(1, cx);
        }
    }

    /// A reject to the peer, of the PDU in hand.
    fn reject(&mut self, own: Handle, reject: Reject, found: Option<String>, cx: &mut Context<'_>) {
        self.counters.rejected += 1;
        let pdu = core::mem::take(&mut self.in_hand);
        self.refusal = Some(match found {
            Some(found) => Reason::violation_in(layer::MMS, found, pdu),
            // It can be read, and is more than was agreed on.
            None => Reason::peer(reject),
        });
        if let Some(connection) = self.connection(own) {
            connection.put(Pdu::Reject(reject), None);
            connection.flush(cx);
        }
    }

    /// An answer that is none. Nothing better will come, so the service is over, and the user is told what the peer is
    /// told.
    fn bad_answer(
        &mut self,
        own: Handle,
        invoke: u32,
        (pdu, code): (RejectedPdu, i64),
        found: Option<String>,
        cx: &mut Context<'_>,
    ) {
        let reject = Reject { invoke: Some(invoke), pdu, code };
        self.reject(own, reject, found, cx);
        if let Some(connection) = self.connection(own)
            && connection.asked.remove(&invoke).is_some()
        {
            connection.grant(1, cx);
            connection.tell(Pdu::Reject(reject), cx);
        }
    }

    fn take(&mut self, own: Handle, pdu: Pdu, cx: &mut Context<'_>) {
        let event = match &pdu {
            Pdu::Request { .. }
            | Pdu::Response { .. }
            | Pdu::Error { .. }
            | Pdu::Unconfirmed(_)
            | Pdu::Reject(_)
            | Pdu::CancelRequest(_)
            | Pdu::CancelResponse(_)
            | Pdu::CancelError { .. } => Event::Pdu,
            Pdu::InitiateRequest(_) | Pdu::InitiateResponse(_) | Pdu::InitiateError(_) => Event::Initiate,
            Pdu::ConcludeRequest => Event::ConcludeRequest,
            Pdu::ConcludeResponse => Event::ConcludeResponse,
            Pdu::ConcludeError(_) => Event::ConcludeError,
        };
        match self.cell(own, event) {
            Some(Action::Take) => self.service(own, pdu, cx),
            Some(Action::Reject) if !matches!(pdu, Pdu::Reject(_)) => {
                let reject = Reject { invoke: None, pdu: RejectedPdu::PDU_ERROR, code: Reject::UNKNOWN_PDU_TYPE };
                self.reject(own, reject, Some(format!("{} where none can be", pdu.name())), cx);
            }
            Some(Action::TellError) => {
                if let Some(connection) = self.connection(own) {
                    connection.tell(pdu, cx);
                }
            }
            Some(todo) => self.act(own, todo, cx),
            None => {}
        }
    }

    /// A service, or something about one.
    fn service(&mut self, own: Handle, pdu: Pdu, cx: &mut Context<'_>) {
        let file = pdu.payload().map_or(0, Message::len);
        let Some(connection) = self.connection(own) else {
            return;
        };
        let mut granted = 0;
        match &pdu {
            Pdu::Request { invoke, modifiers, service } => {
                let wrong = if !modifiers.is_empty() {
                    Some(Reject::UNRECOGNIZED_MODIFIER)
                } else if !connection.ours.has(service.service()) {
                    Some(Reject::UNRECOGNIZED_SERVICE)
                } else if connection.pending.contains_key(invoke) {
                    Some(Reject::INVALID_INVOKE_ID)
                } else if connection.pending.len() >= connection.most_pending() {
                    Some(Reject::MAX_SERV_OUTSTANDING_EXCEEDED)
                } else {
                    None
                };
                if let Some(code) = wrong {
                    let reject = Reject { invoke: Some(*invoke), pdu: RejectedPdu::CONFIRMED_REQUEST, code };
                    return self.reject(own, reject, None, cx);
                }
                connection.pending.insert(*invoke, Asked::service(service));
            }
            Pdu::Response { invoke, service } => {
                if connection.asked.get(invoke) != Some(&service.service()) {
                    let of = (RejectedPdu::CONFIRMED_RESPONSE, Reject::RESPONSE_INVALID_INVOKE_ID);
                    let found = format!("an answer to service {invoke}, which was not asked for, or is another");
                    return self.bad_answer(own, *invoke, of, Some(found), cx);
                }
                connection.asked.remove(invoke);
                granted = 1;
            }
            Pdu::Error { invoke, .. } => {
                if connection.asked.remove(invoke).is_none() {
                    let (pdu, code) = (RejectedPdu::CONFIRMED_ERROR, Reject::RESPONSE_INVALID_INVOKE_ID);
                    let found = format!("an error of service {invoke}, which was not asked for");
                    return self.reject(own, Reject { invoke: Some(*invoke), pdu, code }, Some(found), cx);
                }
                granted = 1;
            }
            Pdu::Reject(reject) => {
                let invoke = reject.invoke.unwrap_or(0);
                let of_request = matches!(reject.pdu, RejectedPdu::CONFIRMED_REQUEST | RejectedPdu::PDU_ERROR);
                if of_request && reject.invoke.is_some() && connection.asked.contains_key(&invoke) {
                    connection.asked.remove(&invoke);
                    granted = 1;
                }
            }
            Pdu::CancelRequest(invoke) => {
                if !connection.pending.contains_key(invoke) {
                    let error = ServiceError::new(ErrorClass::CANCEL, INVOKE_ID_UNKNOWN);
                    let invoke = *invoke;
                    connection.put(Pdu::CancelError { invoke, error }, None);
                    return connection.flush(cx);
                }
            }
            Pdu::Unconfirmed(_)
            | Pdu::CancelResponse(_)
            | Pdu::CancelError { .. }
            | Pdu::InitiateRequest(_)
            | Pdu::InitiateResponse(_)
            | Pdu::InitiateError(_)
            | Pdu::ConcludeRequest
            | Pdu::ConcludeResponse
            | Pdu::ConcludeError(_) => {}
        }
        let is_reject = matches!(pdu, Pdu::Reject(_));
        connection.grant(granted, cx);
        connection.tell(pdu, cx);
        self.counters.received += 1;
        self.counters.file_received += file as u64;
        self.counters.rejects += u64::from(is_reject);
    }
}
