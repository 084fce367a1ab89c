//! Association control PDUs (APDUs).
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.227 (ISO 8650-1) section 9, after captures of ISODE and libiec61850 and Wireshark's acse.asn; in BER |
//! | Above | the user of the association, whose values ride in the user information: FTAM's F-INITIALIZE in AARQ |
//! | Below | [`presentation`](crate::osi::presentation): each APDU is one value in the context of ACSE |
//! | Left out | application-context-name-list and the fields of the connectionless and later editions, which are passed over; a look into directory names |
//!
//! Context tags of titles, names and results are explicit (`a1 07 06 05 ..`), those of strings implicit.

use core::fmt;

use kumiki_octets::Message;
use kumiki_osi_service::Oid;
use kumiki_osi_service::acse::{AssociateResult, Authentication, Diagnostic, Names};
use kumiki_osi_service::presentation::ContextId;

use crate::Malformed;
use crate::osi::ber::{BerError, Element, Tag, Writer, chain, push};
use crate::osi::presentation::Form;

mod fields;
mod information;
#[cfg(test)]
mod tests;

use fields::Fields;
pub use information::{Information, MOST_INFORMATION};

/// The most octets of a field that is not user information.
const MOST_FIELD: usize = 16_384;

/// Why an association is released: RLRQ and RLRE.
pub mod reason {
    /// As usual.
    pub const NORMAL: i64 = 0;
    /// RLRQ: urgent.
    pub const URGENT: i64 = 1;
    /// RLRE: the responder had not finished.
    pub const NOT_FINISHED: i64 = 1;
    /// What the users have agreed it to mean.
    pub const USER_DEFINED: i64 = 30;
}

/// Who aborts: ABRT.
pub mod source {
    /// The user of association control.
    pub const USER: i64 = 0;
    /// Association control itself.
    pub const PROVIDER: i64 = 1;
}

/// AARQ: an association is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Protocol versions, bit 0 for version 1.
    pub versions: u32,
    /// Application context name.
    pub application_context: Oid,
    /// Who is called.
    pub called: Names,
    /// Who calls.
    pub calling: Names,
    /// How the caller is authenticated; that the authentication functional unit is wanted goes with it.
    pub authentication: Option<Authentication>,
    /// Implementation information: something to read, not to act on.
    pub implementation: Option<String>,
    /// User information.
    pub information: Vec<Information>,
}

impl Request {
    /// Version 1, and nothing else.
    #[must_use]
    pub fn new(application_context: Oid) -> Self {
        Self {
            versions: 1,
            application_context,
            called: Names::default(),
            calling: Names::default(),
            authentication: None,
            implementation: None,
            information: Vec::new(),
        }
    }
}

/// AARE: the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Protocol versions, bit 0 for version 1.
    pub versions: u32,
    /// Application context name.
    pub application_context: Oid,
    /// Whether the association stands.
    pub result: AssociateResult,
    /// Who says so, and why.
    pub diagnostic: Diagnostic,
    /// Who answers.
    pub responding: Names,
    /// How the responder is authenticated.
    pub authentication: Option<Authentication>,
    /// Implementation information.
    pub implementation: Option<String>,
    /// User information.
    pub information: Vec<Information>,
}

impl Response {
    /// Version 1, a result and why, and nothing else.
    #[must_use]
    pub fn new(application_context: Oid, result: AssociateResult, diagnostic: Diagnostic) -> Self {
        Self {
            versions: 1,
            application_context,
            result,
            diagnostic,
            responding: Names::default(),
            authentication: None,
            implementation: None,
            information: Vec::new(),
        }
    }
}

/// RLRQ and RLRE.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Release {
    /// One of [`reason`].
    pub reason: Option<i64>,
    /// User information.
    pub information: Vec<Information>,
}

/// ABRT.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Abort {
    /// One of [`source`].
    pub source: i64,
    /// Of the authentication functional unit: 1 no reason, 2 protocol error, 3 and 4 authentication mechanism not
    /// recognised and required, 5 authentication failed, 6 required.
    pub diagnostic: Option<i64>,
    /// User information.
    pub information: Vec<Information>,
}

/// An APDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Apdu {
    /// AARQ.
    Request(Request),
    /// AARE.
    Response(Response),
    /// RLRQ.
    ReleaseRequest(Release),
    /// RLRE.
    ReleaseResponse(Release),
    /// ABRT.
    Abort(Abort),
}

impl Apdu {
    /// The name in the standard.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Request(_) => "AARQ",
            Self::Response(_) => "AARE",
            Self::ReleaseRequest(_) => "RLRQ",
            Self::ReleaseResponse(_) => "RLRE",
            Self::Abort(_) => "ABRT",
        }
    }

    /// Its user information.
    #[must_use]
    pub fn information(&self) -> &[Information] {
        match self {
            Self::Request(request) => &request.information,
            Self::Response(response) => &response.information,
            Self::ReleaseRequest(release) | Self::ReleaseResponse(release) => &release.information,
            Self::Abort(abort) => &abort.information,
        }
    }

    /// Reads the APDU that is all of `message`.
    ///
    /// # Errors
    /// It is none, or what is mandatory in it is missing.
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let mut r = chain::Reader::new("APDU", message);
        let tag = r.peek("APDU")?.map(|head| head.tag);
        let pdu = match tag {
            Some(tag) if tag == Tag::application(0) => "AARQ",
            Some(tag) if tag == Tag::application(1) => "AARE",
            Some(tag) if tag == Tag::application(2) => "RLRQ",
            Some(tag) if tag == Tag::application(3) => "RLRE",
            Some(tag) if tag == Tag::application(4) => "ABRT",
            found => {
                let found = found.unwrap_or(Tag::universal(0));
                let expected = "[APPLICATION 0] AARQ to [APPLICATION 4] ABRT";
                return Err(BerError::Choice { found, expected }.of("APDU", "APDU"));
            }
        };
        let mut r = chain::Reader::new(pdu, r.into_rest());
        let fields = Fields::read(pdu, &mut r)?;
        r.finish(pdu)?;
        let missing = |number, field| {
            let expected = Tag::context(number);
            BerError::Missing { expected }.of(pdu, field)
        };
        let context = || fields.application_context.ok_or_else(|| missing(1, "application-context-name"));
        Ok(match pdu {
            "AARQ" => Self::Request(Request {
                versions: fields.versions.unwrap_or(1),
                application_context: context()?,
                called: fields.called,
                calling: fields.calling,
                authentication: fields.authentication.into(),
                implementation: fields.implementation,
                information: fields.information,
            }),
            "AARE" => Self::Response(Response {
                versions: fields.versions.unwrap_or(1),
                application_context: context()?,
                result: fields.result.ok_or_else(|| missing(2, "result"))?,
                diagnostic: fields.diagnostic.ok_or_else(|| missing(3, "result-source-diagnostic"))?,
                responding: fields.called,
                authentication: fields.authentication.into(),
                implementation: fields.implementation,
                information: fields.information,
            }),
            "RLRQ" | "RLRE" => {
                let release = Release { reason: fields.reason, information: fields.information };
                if pdu == "RLRQ" { Self::ReleaseRequest(release) } else { Self::ReleaseResponse(release) }
            }
            _ => Self::Abort(Abort {
                source: fields.reason.ok_or_else(|| missing(0, "abort-source"))?,
                diagnostic: fields.abort_diagnostic,
                information: fields.information,
            }),
        })
    }

    /// The octets. User information is taken along, not copied.
    #[must_use]
    pub fn emit(self) -> Message {
        let mut w = Writer::new();
        let (number, information) = match self {
            Self::Request(request) => {
                fields::versions(&mut w, request.versions);
                w.context(1, |w| {
                    w.oid(Tag::OBJECT_IDENTIFIER, &request.application_context);
                });
                fields::names(&mut w, 2, &request.called);
                fields::names(&mut w, 6, &request.calling);
                fields::authentication(&mut w, 10, request.authentication.as_ref());
                fields::implementation(&mut w, request.implementation.as_deref());
                (0, request.information)
            }
            Self::Response(response) => {
                fields::versions(&mut w, response.versions);
                w.context(1, |w| {
                    w.oid(Tag::OBJECT_IDENTIFIER, &response.application_context);
                });
                w.context(2, |w| {
                    let result = match response.result {
                        AssociateResult::Accepted => 0,
                        AssociateResult::RejectedPermanent => 1,
                        AssociateResult::RejectedTransient => 2,
                    };
                    w.integer(Tag::INTEGER, result);
                });
                w.context(3, |w| {
                    let (source, code) = match response.diagnostic {
                        Diagnostic::User(code) => (1, code),
                        Diagnostic::Provider(code) => (2, code),
                    };
                    w.context(source, |w| w.integer(Tag::INTEGER, code));
                });
                fields::names(&mut w, 4, &response.responding);
                fields::authentication(&mut w, 8, response.authentication.as_ref());
                fields::implementation(&mut w, response.implementation.as_deref());
                (1, response.information)
            }
            Self::ReleaseRequest(release) => {
                fields::reason(&mut w, release.reason);
                (2, release.information)
            }
            Self::ReleaseResponse(release) => {
                fields::reason(&mut w, release.reason);
                (3, release.information)
            }
            Self::Abort(abort) => {
                fields::reason(&mut w, Some(abort.source));
                if let Some(diagnostic) = abort.diagnostic {
                    w.integer(Tag::context(1), diagnostic);
                }
                (4, abort.information)
            }
        };
        let information = information::emit(information);
        let mut message = crate::osi::in_front(&w.finish(), information);
        push::constructed(&mut message, Tag::application(number));
        message
    }
}

impl fmt::Display for Apdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Request(request) => {
                write!(f, " application context {}", request.application_context)?;
                if let Some(title) = &request.called.ap_title {
                    write!(f, " called {title}")?;
                }
                if let Some(title) = &request.calling.ap_title {
                    write!(f, " calling {title}")?;
                }
            }
            Self::Response(response) => match response.result {
                AssociateResult::Accepted => f.write_str(" accepted")?,
                AssociateResult::RejectedPermanent => {
                    write!(f, " rejected: {}", response.diagnostic)?;
                }
                AssociateResult::RejectedTransient => {
                    write!(f, " rejected for now: {}", response.diagnostic)?;
                }
            },
            Self::ReleaseRequest(release) | Self::ReleaseResponse(release) => match release.reason {
                Some(reason::NORMAL) => f.write_str(" normal")?,
                Some(other) => write!(f, " reason {other}")?,
                None => {}
            },
            Self::Abort(abort) => f.write_str(match abort.source {
                source::USER => " by the user",
                source::PROVIDER => " by association control",
                _ => " by a source that X.227 does not define",
            })?,
        }
        for one in self.information() {
            write!(f, " {one}")?;
        }
        Ok(())
    }
}
