//! Lists of presentation contexts, and of what became of them.

use kumiki_osi_service::Oid;
use kumiki_osi_service::presentation::{Context, ContextId, ContextResult};
use smallvec::SmallVec;

use crate::Malformed;
use crate::osi::ber::{BerError, Element, Tag, Writer};

/// The most contexts in a list.
pub const MOST_CONTEXTS: usize = 128;
/// The most transfer syntaxes proposed for a context.
pub const MOST_TRANSFER_SYNTAXES: usize = 16;

/// A context that stands, and how it is written: Presentation-context-identifier-list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentifiedContext {
    /// The context.
    pub id: ContextId,
    /// Its transfer syntax.
    pub transfer_syntax: Oid,
}

/// Context-list.
pub(super) fn list(element: &Element<'_>) -> Result<Vec<Context>, Malformed> {
    element.elements()?.each("presentation-context-definition-list", MOST_CONTEXTS, |item| {
        let mut item = item.elements()?;
        let id = item.take(Tag::INTEGER, "presentation-context-identifier")?.integer()?;
        let abstract_syntax = item.take(Tag::OBJECT_IDENTIFIER, "abstract-syntax-name")?.oid()?;
        let field = "transfer-syntax-name-list";
        let names = item.take(Tag::SEQUENCE, field)?;
        let all = names.elements()?.each(field, MOST_TRANSFER_SYNTAXES, Element::oid)?;
        if all.is_empty() {
            return Err(names.refuse(BerError::Missing { expected: Tag::OBJECT_IDENTIFIER }));
        }
        Ok(Context { id, abstract_syntax, transfer_syntaxes: SmallVec::from_vec(all) })
    })
}

pub(super) fn put_list(w: &mut Writer, tag: Tag, contexts: &[Context]) {
    if contexts.is_empty() {
        return;
    }
    w.constructed(tag, |w| {
        for context in contexts {
            w.sequence(|w| {
                w.integer(Tag::INTEGER, context.id);
                w.oid(Tag::OBJECT_IDENTIFIER, &context.abstract_syntax);
                w.sequence(|w| {
                    for syntax in &context.transfer_syntaxes {
                        w.oid(Tag::OBJECT_IDENTIFIER, syntax);
                    }
                });
            });
        }
    });
}

/// Result-list.
pub(super) fn results(element: &Element<'_>) -> Result<Vec<ContextResult>, Malformed> {
    let field = "presentation-context-definition-result-list";
    element.elements()?.each(field, MOST_CONTEXTS, |item| {
        let mut item = item.elements()?;
        let result = item.take(Tag::context(0), "result")?;
        let transfer = item.optional(Tag::context(1), "transfer-syntax-name", Element::oid)?;
        let reason = item.optional(Tag::context(2), "provider-reason", super::code)?;
        Ok(match result.integer()? {
            0 => ContextResult::Accepted(transfer),
            1 => ContextResult::RefusedByUser,
            2 => ContextResult::RefusedByProvider(reason),
            found => {
                let expected = "0 (acceptance), 1 (user-rejection) or 2 (provider-rejection)";
                return Err(result.refuse(BerError::Value { found, expected }));
            }
        })
    })
}

pub(super) fn put_results(w: &mut Writer, tag: Tag, results: &[ContextResult]) {
    if results.is_empty() {
        return;
    }
    w.constructed(tag, |w| {
        for result in results {
            w.sequence(|w| match result {
                ContextResult::Accepted(transfer) => {
                    w.integer(Tag::context(0), 0);
                    if let Some(transfer) = transfer {
                        w.oid(Tag::context(1), transfer);
                    }
                }
                ContextResult::RefusedByUser => w.integer(Tag::context(0), 1),
                ContextResult::RefusedByProvider(reason) => {
                    w.integer(Tag::context(0), 2);
                    if let Some(reason) = reason {
                        w.integer(Tag::context(2), *reason);
                    }
                }
            });
        }
    });
}

/// Presentation-context-identifier-list.
pub(super) fn standing(element: &Element<'_>) -> Result<Vec<IdentifiedContext>, Malformed> {
    let field = "presentation-context-identifier-list";
    element.elements()?.each(field, MOST_CONTEXTS, |item| {
        let mut item = item.elements()?;
        Ok(IdentifiedContext {
            id: item.take(Tag::INTEGER, "presentation-context-identifier")?.integer()?,
            transfer_syntax: item.take(Tag::OBJECT_IDENTIFIER, "transfer-syntax-name")?.oid()?,
        })
    })
}

pub(super) fn put_standing(w: &mut Writer, tag: Tag, all: &[IdentifiedContext]) {
    if all.is_empty() {
        return;
    }
    w.constructed(tag, |w| {
        for context in all {
            w.sequence(|w| {
                w.integer(Tag::INTEGER, context.id);
                w.oid(Tag::OBJECT_IDENTIFIER, &context.transfer_syntax);
            });
        }
    });
}

/// How many contexts stand, and of how many.
pub(super) fn count(results: &[ContextResult]) -> (usize, usize) {
    let accepted = results.iter().filter(|result| result.is_accepted()).count();
    (accepted, results.len())
}
