//! What helps against a failure, by what was asked and what the peer said of it.
//!
//! The table of error identifiers has one remedy for each number, which is right where that number says all. Where a
//! responder uses a number for something that was not asked, or says more in its own words, those decide.

use super::failure::SEND_LESS;
use super::{Failure, Layer, Operation};
use crate::filestore::TOO_LONG;

/// What responders say of a directory that is not deleted, in small letters: POSIX's words, and those of its error.
const NOT_EMPTY: [&str; 3] = ["not empty", "notempty", "files in it"];

/// What the system says of a file system that is mounted so (EROFS), in small letters.
const READ_ONLY: &str = "read-only file system";

impl Failure {
    /// The same, with what helps against it in `operation`.
    pub(crate) fn of_operation(self, operation: &Operation) -> Self {
        match remedy(&self, operation) {
            Some(remedy) => Self { remedy: remedy.to_owned(), ..self },
            None => self,
        }
    }

    /// What the peer says of it in words of its own, in small letters.
    fn in_its_words(&self) -> String {
        let said = self.diagnostics.iter().rev();
        let said = said.filter(|it| Some(it.error_identifier) == self.code);
        let details = said.filter_map(|it| it.further_details.as_ref());
        let details: Vec<String> = details.map(ToString::to_string).collect();
        details.join(" ").to_lowercase()
    }
}

fn remedy(failure: &Failure, operation: &Operation) -> Option<&'static str> {
    let is_missing = match failure.layer {
        Layer::Ftam => matches!(failure.code, Some(3000 | 3004)),
        Layer::Mms => failure.code == Some(kumiki_osi_service::mms::file_error::FILE_NON_EXISTENT),
        Layer::Local | Layer::Network | Layer::Transport | Layer::Session | Layer::Presentation | Layer::Acse => {
            return None;
        }
    };
    if is_missing && is_pattern(operation) {
        return Some("names are taken as they are, and are no patterns; collect --prefix fetches all that begin alike");
    }
    if failure.layer != Layer::Ftam {
        return None;
    }
    let words = failure.in_its_words();
    match (failure.code?, operation) {
        // Access control is never asked for here: it is how some say that this user may not.
        (3014..=3016, _) => Some(match operation {
            Operation::Get { .. } => "the user may not read it; ask its owner, or whoever runs the responder",
            Operation::Put { .. } => "the user may not write it; ask its owner, or whoever runs the responder",
            Operation::List { .. }
            | Operation::Stat { .. }
            | Operation::Rename { .. }
            | Operation::Remove { .. }
            | Operation::MakeDirectory { .. } => {
                "the user may not do this; ask its owner, or whoever runs the responder"
            }
        }),
        // Nor are locks: the responder has its own.
        (3008..=3010, _) => Some("another user may have it open: try again later"),
        (3007, Operation::Remove { .. }) if NOT_EMPTY.iter().any(|it| words.contains(it)) => Some("empty it first"),
        // It has said why: nothing general is of more use.
        (3007, Operation::Remove { .. }) if !words.is_empty() => Some(""),
        (3007, Operation::Remove { .. }) => {
            Some("check owner and permissions on the responder, and, of a directory, that it is empty")
        }
        (5029, Operation::Put { .. }) if words.contains(TOO_LONG) => Some(SEND_LESS),
        (11, _) if words.contains(READ_ONLY) => {
            Some("nothing can be written there now; tell whoever runs the responder")
        }
        (5036, Operation::Get { contents_type: None, .. }) => {
            Some("ls shows what is in it, and collect fetches the files")
        }
        // As a directory is all that a listing opens.
        (5036, Operation::List { .. }) => Some("this is a file, and no directory: stat shows it, get fetches it"),
        _ => None,
    }
}

/// Whether the name is one that a shell would take for a pattern.
fn is_pattern(operation: &Operation) -> bool {
    let name = match operation {
        Operation::Get { name, .. }
        | Operation::Stat { name }
        | Operation::List { name }
        | Operation::Remove { name }
        | Operation::Rename { name, .. } => name,
        Operation::Put { .. } | Operation::MakeDirectory { .. } => return false,
    };
    name.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use kumiki_octets::Message;
    use kumiki_osi_service::ftam::Diagnostic;
    use kumiki_osi_service::ftam::contents::ContentsType;

    use super::super::PutMode;
    use super::*;
    use crate::filestore::StoreError;

    fn said(code: i64, details: Option<&str>, operation: &Operation) -> String {
        let failure = Failure::of_diagnostics(&[Diagnostic {
            error_identifier: code,
            further_details: details.map(Into::into),
            ..Diagnostic::default()
        }]);
        failure.of_operation(operation).remedy
    }

    fn remove() -> Operation {
        Operation::Remove { name: "d".to_owned() }
    }

    #[test]
    fn what_nobody_asked_for_is_not_to_be_left_out() {
        for code in [3014, 3015, 3016] {
            let of = said(code, None, &remove());
            assert!(of.contains("the user may not"), "{of}");
        }
        assert!(!said(3008, None, &remove()).contains("ask for"));
    }

    #[test]
    fn what_the_peer_says_wins_over_the_table() {
        assert_eq!(said(3007, Some("the directory is not empty"), &remove()), "empty it first");
        assert_eq!(said(3007, Some("Directory not empty"), &remove()), "empty it first");
        assert_eq!(said(3007, Some("read-only medium"), &remove()), "");
        assert!(said(3007, None, &remove()).contains("permissions"));
    }

    #[test]
    fn what_does_not_help_is_not_advised() {
        let put = Operation::Put {
            name: "a".to_owned(),
            contents_type: ContentsType::binary(),
            mode: PutMode::Replace,
            source: Box::new(Message::default()),
        };
        let too_long = StoreError::too_long(5).text;
        assert_eq!(said(5029, Some(&too_long), &put), SEND_LESS);
        assert!(said(5029, Some("the quota of the store is used up"), &put).contains("make room"));
        let system = said(11, Some("a: Read-only file system (os error 30)"), &put);
        assert!(system.contains("nothing can be written"), "{system}");
        assert!(said(11, Some("a: Permission denied (os error 13)"), &put).contains("owner and permissions"));
        // There is no other type as which it could be listed.
        let list = Operation::List { name: "a".to_owned() };
        assert!(said(5036, Some("the file is FTAM-3"), &list).contains("no directory"));
    }

    #[test]
    fn a_pattern_is_named_as_one() {
        let of = |name: &str| {
            let name = name.to_owned();
            said(3004, None, &Operation::Stat { name })
        };
        assert!(of("AMA*").contains("collect --prefix"));
        assert!(of("AMA").contains("list the directory"));
    }
}
