//! What is told to a store that keeps a journal: what was asked for and not done, with the diagnostics that the
//! initiator was given, and attributes that were told by themselves.

use kumiki_octets::text::quoted;
use kumiki_osi_service::ftam::attributes::Pathname;
use kumiki_osi_service::ftam::{ActionResult, CalendarTime, Diagnostic, Fpdu};

use super::super::Guard;
use super::Responder;

/// A name as it was written.
fn written(name: &Pathname) -> String {
    let parts: Vec<String> = name.components().iter().map(ToString::to_string).collect();
    parts.join("/")
}

/// What giving another name to `from` is called in a journal.
pub(crate) fn renaming(from: &str) -> String {
    format!("rename {} to", quoted(from))
}

/// What a request is called in a journal, and the name that it has in it.
#[expect(clippy::wildcard_enum_match_arm, reason = "what else there is asks nothing of a file, or cannot be refused")]
fn asked(request: &Fpdu) -> Option<(&'static str, Option<String>)> {
    Some(match request {
        Fpdu::SelectRequest(it) => ("select", Some(written(&it.pathname))),
        Fpdu::CreateRequest(it) => ("create", Some(written(&it.initial_attributes.pathname))),
        Fpdu::RecoverRequest(it) => ("go on with", Some(format!("activity {}", it.activity_identifier))),
        Fpdu::DeselectRequest(_) => ("empty", None),
        Fpdu::DeleteRequest(_) => ("remove", None),
        Fpdu::ReadAttribRequest(_) => ("look at", None),
        Fpdu::ChangeAttribRequest(it) => match &it.attributes.pathname {
            Some(to) => ("rename", Some(written(to))),
            None => ("change", None),
        },
        Fpdu::OpenRequest(_) => ("open", None),
        Fpdu::LocateRequest(_) => ("locate", None),
        Fpdu::EraseRequest(_) => ("erase", None),
        _ => return None,
    })
}

/// The diagnostics of a response by which something was not done.
#[expect(clippy::wildcard_enum_match_arm, reason = "what else there is answers none of these requests")]
fn failure(response: &Fpdu) -> Option<&[Diagnostic]> {
    let (result, said) = match response {
        Fpdu::SelectResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::CreateResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::RecoverResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::DeselectResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::DeleteResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::ReadAttribResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::ChangeAttribResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::OpenResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::LocateResponse(it) => (it.action_result, &it.diagnostic),
        Fpdu::EraseResponse(it) => (it.action_result, &it.diagnostic),
        _ => return None,
    };
    (result != ActionResult::Success).then_some(said)
}

/// Diagnostics in words.
pub(super) fn words(said: &[Diagnostic]) -> String {
    let texts: Vec<String> = said.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

impl Responder {
    /// Does what a request asks for, and has the store know what it was not asked. None where it is no request, or
    /// comes at the wrong time.
    pub(super) fn execute(&mut self, request: Fpdu, now: CalendarTime, guard: &mut Guard) -> Option<Fpdu> {
        let asked = asked(&request);
        let looks = matches!(request, Fpdu::ReadAttribRequest(_));
        // It may be selected no more when it has been answered.
        let selected = self.selected.map(|it| it.selection);
        let selected = selected.and_then(|it| guard.name(it).cloned());
        guard.forget_aside();
        let response = self.answer(request, now, guard);
        if let (Some((what, name)), Some(response)) = (asked, &response) {
            let here = selected.as_ref().map(ToString::to_string);
            if let Some(said) = failure(response) {
                let why = words(said);
                match (what, here, name) {
                    ("rename", Some(from), Some(to)) => guard.refused(&renaming(&from), &to, &why),
                    (_, here, name) => guard.refused(what, &name.or(here).unwrap_or_default(), &why),
                }
            } else if let (true, Some(name)) = (looks, &selected) {
                guard.store().looked(name);
            }
        }
        response
    }
}
