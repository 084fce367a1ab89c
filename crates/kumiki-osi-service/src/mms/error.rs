//! Why something was not done.

use core::fmt;

/// The class of an error, which gives its code a meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ErrorClass(pub u32);

#[expect(missing_docs, reason = "the names are those of the standard")]
impl ErrorClass {
    pub const VMD_STATE: Self = Self(0);
    pub const APPLICATION_REFERENCE: Self = Self(1);
    pub const DEFINITION: Self = Self(2);
    pub const RESOURCE: Self = Self(3);
    pub const SERVICE: Self = Self(4);
    pub const SERVICE_PREEMPT: Self = Self(5);
    pub const TIME_RESOLUTION: Self = Self(6);
    pub const ACCESS: Self = Self(7);
    pub const INITIATE: Self = Self(8);
    pub const CONCLUDE: Self = Self(9);
    pub const CANCEL: Self = Self(10);
    pub const FILE: Self = Self(11);
    pub const OTHERS: Self = Self(12);
}

impl ErrorClass {
    const ALL: [(&'static str, &'static [&'static str]); 13] = [
        (
            "VMD state",
            &[
                "other",
                "the state of the device is against it",
                "the device has a problem",
                "a domain could not be transferred",
                "invalid state machine",
            ],
        ),
        (
            "application reference",
            &[
                "other",
                "the application cannot be reached",
                "the connection was lost",
                "invalid application reference",
                "context not supported",
            ],
        ),
        (
            "definition",
            &[
                "other",
                "the object is not defined",
                "invalid address",
                "type not supported",
                "inconsistent type",
                "the object exists",
                "inconsistent attribute of an object",
            ],
        ),
        (
            "resource",
            &[
                "other",
                "no memory",
                "no processor",
                "no mass storage",
                "the capability is not available",
                "the capability is not known",
            ],
        ),
        (
            "service",
            &[
                "other",
                "primitives out of sequence",
                "the state of the object is against it",
                "the answer does not fit into a PDU",
                "nothing to continue behind",
                "a constraint of the object is against it",
            ],
        ),
        ("service preempt", &["other", "time is over", "deadlock", "cancelled"]),
        ("time resolution", &["other", "resolution not supported"]),
        (
            "access",
            &[
                "other",
                "access to the object is not supported",
                "the object does not exist",
                "access to the object is denied",
                "the object is not valid any more",
            ],
        ),
        (
            "initiate",
            &[
                "other",
                "no common version",
                "too short PDUs",
                "too few outstanding services of the caller",
                "too few outstanding services of who is called",
                "too few services",
                "too few parameters",
                "too little nesting",
            ],
        ),
        ("conclude", &["other", "more is to be said"]),
        ("cancel", &["other", "nothing of this number", "too late to cancel"]),
        (
            "file",
            &[
                "other",
                "the name means several files",
                "the file is in use",
                "this is no name of a file",
                "wrong type of contents",
                "the position is not in the file",
                "access to the file is denied",
                "the file does not exist",
                "there is a file of this name",
                "no space in the filestore",
            ],
        ),
        ("others", &["other"]),
    ];

    fn row(self) -> Option<&'static (&'static str, &'static [&'static str])> {
        Self::ALL.get(usize::try_from(self.0).ok()?)
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().map_or("a class that ISO 9506 does not define", |row| row.0)
    }

    /// What a code of it means.
    #[must_use]
    pub fn meaning(self, code: i64) -> &'static str {
        let meanings = self.row().map_or(&[][..], |row| row.1);
        usize::try_from(code)
            .ok()
            .and_then(|code| meanings.get(code))
            .unwrap_or(&"a code that ISO 9506 does not define")
    }
}

/// Codes of [`ErrorClass::FILE`].
#[expect(missing_docs, reason = "the names are those of the standard")]
pub mod file_error {
    pub const OTHER: i64 = 0;
    pub const FILENAME_AMBIGUOUS: i64 = 1;
    pub const FILE_BUSY: i64 = 2;
    pub const FILENAME_SYNTAX_ERROR: i64 = 3;
    pub const CONTENT_TYPE_INVALID: i64 = 4;
    pub const POSITION_INVALID: i64 = 5;
    pub const FILE_ACCESS_DENIED: i64 = 6;
    pub const FILE_NON_EXISTENT: i64 = 7;
    pub const DUPLICATE_FILENAME: i64 = 8;
    pub const INSUFFICIENT_SPACE: i64 = 9;
}

/// Which file of a service with two is to blame: 0 the source (of fileRename the current name), 1 the destination (the
/// new name).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultyFile {
    /// Of obtainFile.
    ObtainFile(i64),
    /// Of fileRename.
    FileRename(i64),
}

/// Why a service was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceError {
    /// The class.
    pub class: ErrorClass,
    /// What went wrong, as the class has it.
    pub code: i64,
    /// A code of the implementation's own.
    pub additional_code: Option<i64>,
    /// Something to read.
    pub additional_description: Option<String>,
    /// Of obtainFile and fileRename: which file is to blame. What other services say more is not looked at.
    pub file: Option<FaultyFile>,
}

impl ServiceError {
    /// Without anything more.
    #[must_use]
    pub const fn new(class: ErrorClass, code: i64) -> Self {
        Self { class, code, additional_code: None, additional_description: None, file: None }
    }

    /// Of a file.
    #[must_use]
    pub const fn of_file(code: i64) -> Self {
        Self::new(ErrorClass::FILE, code)
    }

    /// The same with something to read.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.additional_description = (!text.is_empty()).then_some(text);
        self
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = self.class.meaning(self.code);
        write!(f, "{} error {}, {meaning}", self.class.name(), self.code)?;
        match self.file {
            Some(FaultyFile::ObtainFile(0) | FaultyFile::FileRename(0)) => f.write_str(", of the source")?,
            Some(FaultyFile::ObtainFile(1) | FaultyFile::FileRename(1)) => {
                f.write_str(", of the destination")?;
            }
            Some(FaultyFile::ObtainFile(_) | FaultyFile::FileRename(_)) | None => {}
        }
        if let Some(code) = self.additional_code {
            write!(f, ", code {code}")?;
        }
        if let Some(text) = &self.additional_description {
            write!(f, " ({})", text.escape_debug())?;
        }
        Ok(())
    }
}

/// Which PDU is rejected, in the numbers of the reject reasons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RejectedPdu(pub u32);

#[expect(missing_docs, reason = "the names are those of the standard")]
impl RejectedPdu {
    pub const CONFIRMED_REQUEST: Self = Self(1);
    pub const CONFIRMED_RESPONSE: Self = Self(2);
    pub const CONFIRMED_ERROR: Self = Self(3);
    pub const UNCONFIRMED: Self = Self(4);
    pub const PDU_ERROR: Self = Self(5);
    pub const CANCEL_REQUEST: Self = Self(6);
    pub const CANCEL_RESPONSE: Self = Self(7);
    pub const CANCEL_ERROR: Self = Self(8);
    pub const CONCLUDE_REQUEST: Self = Self(9);
    pub const CONCLUDE_RESPONSE: Self = Self(10);
    pub const CONCLUDE_ERROR: Self = Self(11);
}

/// A PDU of the peer that was none, or came at the wrong time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reject {
    /// The number of the service, where it was known.
    pub invoke: Option<u32>,
    /// What was rejected.
    pub pdu: RejectedPdu,
    /// Why, as the kind of PDU has it.
    pub code: i64,
}

#[expect(missing_docs, reason = "the names are those of the standard")]
impl Reject {
    pub const UNRECOGNIZED_SERVICE: i64 = 1;
    pub const UNRECOGNIZED_MODIFIER: i64 = 2;
    pub const INVALID_INVOKE_ID: i64 = 3;
    pub const INVALID_ARGUMENT: i64 = 4;
    pub const MAX_SERV_OUTSTANDING_EXCEEDED: i64 = 6;
    /// Of responses and errors.
    pub const RESPONSE_INVALID_INVOKE_ID: i64 = 2;
    /// Of responses: the result; of errors: the error.
    pub const RESPONSE_INVALID: i64 = 3;
    /// Of [`RejectedPdu::PDU_ERROR`].
    pub const UNKNOWN_PDU_TYPE: i64 = 0;
    /// Of [`RejectedPdu::PDU_ERROR`].
    pub const INVALID_PDU: i64 = 1;
}

impl Reject {
    /// What it means.
    #[must_use]
    pub const fn meaning(&self) -> &'static str {
        match (self.pdu.0, self.code) {
            (1..=4, 1) => "unrecognized service",
            (1, 2) => "unrecognized modifier",
            (1, 3) | (2 | 3, 2) | (6..=8, 1) => "invalid invoke ID",
            (1, 4) | (4, 2) | (9, 1) => "invalid argument",
            (1, 5) => "invalid modifier",
            (1, 6) => "too many services at a time",
            (1, 8) | (2, 5) | (4, 3) => "nested too deeply",
            (1, 9) | (2, 6) | (3 | 4, 4) | (8, 3) | (11, 2) => "a value out of range",
            (2, 3) | (10, 1) => "invalid result",
            (3, 3) | (8, 2) | (11, 1) => "invalid error",
            (5, 0) => "unknown type of PDU",
            (5, 1) => "invalid PDU",
            (5, 2) => "on the wrong primitive of association control",
            (1..=4 | 6..=11, 0) => "no reason given",
            _ => "a reason that ISO 9506 does not define",
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.pdu.0 {
            1 => "a request",
            2 => "a response",
            3 => "an error",
            4 => "an unconfirmed service",
            5 => "a PDU",
            6..=8 => "a cancellation",
            9..=11 => "the end",
            _ => "something",
        };
        write!(f, "rejected {what}: {} (reject reason {}.{})", self.meaning(), self.pdu.0, self.code)
    }
}
