//! FTAM: files of others, whole or in part, and what is known of them.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 8571-4, the file protocol machine: regimes, bulk transfer, grouping, checkpoints, restart. The text was not at hand: what is recalled and not seen in a capture is marked |
//! | Above | a user of the file service: a client, or a filestore |
//! | Below | association control, and through it presentation and session |
//! | Left out | what is recovered (nothing is kept of a broken association: its users keep it); overlapping transfers; FPDUs 45 to 72; contexts that change while the association stands; whether strings are as long as the document type's parameter says; values in FTAM simple hierarchy; timers, of which FTAM has none |
//!
//! Both ends see the same FPDUs, though not in the same order where they cross; so one table, [`states`], serves both.
//!
//! **Beginning.** F-INITIALIZE is in [`Association::initialize`], both ways. What a user leaves out of the request or
//! its answer (functional units, and with them class, version and quality; attribute groups; contents types) is taken
//! from [`Capabilities`] as [`negotiation`] says, and the answer has no more units than were asked for. A caller does
//! not take an answer with an [`objection`]. A request without a user's contexts proposes those of [`Config`]; FTAM-PCI
//! is always the first. With recovery or restart among the functional units session is asked for minor points and
//! resynchronisation, and a responder without those agrees to neither. An `Accept` whose response says failure refuses,
//! and nothing more is heard of it; the caller hears the response and then `Aborted`.
//!
//! **Primitives** are FPDUs ([`Primitive::Pdu`]). A group is one P-DATA, and every other FPDU is one by itself: ISODE's
//! responder ends an association in which F-TRANSFER-END comes in the P-DATA of F-DATA-END. F-TERMINATE and the aborts
//! ride on association control; `Release` and `Abort` without an FPDU are given an empty one.
//!
//! **Data.** `Data` is a string of the open document's own type; another element is [`Primitive::Data`]. What the
//! document is F-OPEN's response says. Content stays where it is: only its header is put in front.
//!
//! **Credit** counts data elements. FPDUs take presentation's credit, and wait for it, but not the user's. A peer may
//! send several elements in a P-DATA, by [`Config::values`] at most, and spends one message of credit for all; the
//! user's grants make up for that before any goes down. Where much waits to be sent, nothing is granted for FPDUs: who
//! does not take answers is not asked on.
//!
//! **Checkpoints** are minor synchronisation points, numbered from 1 in each transfer, behind F-RECOVER from the
//! recovery point on (recalled), within the window that F-INITIALIZE agreed. Who sends data has the token, and else the
//! initiator (recalled: so does ISO 8571-4 use the token). F-RESTART and F-CANCEL are resynchronisations (restart,
//! abandon) where the session has them, and P-DATA where not. Of two that meet as resynchronisations session lets one
//! count. The other F-CANCEL is answered here, when the user has answered the peer's; the other F-RESTART is not
//! answered.
//!
//! **Errors.** What a peer must not send ends the association with F-P-ABORT, to the peer and, before `Aborted`, to the
//! user.

use kumiki_graph::{
    Above, Accept, Below, Context, Duration, Handle, Indication, Mode, Offered, Open, Opened, Protocol, Reason,
    Request, Service, Shape, Token,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi::acse;
use kumiki_osi_service::ftam::contents::ContentsTypeName;
use kumiki_osi_service::ftam::regime::{Abort, QualityOfService};
use kumiki_osi_service::ftam::{
    ActionResult, AttributeGroups, Diagnostic, DiagnosticType, Entity, Fpdu, FunctionalUnits, Kind, Primitive,
    ProtocolVersions, ServiceClasses, oids,
};
use kumiki_osi_service::layer;
use kumiki_osi_service::presentation::PData;
use kumiki_osi_service::presentation::Value;
use kumiki_osi_service::{Association, Oid};
use kumiki_settings::{BuildError, Key, Reader, Settings};
use kumiki_wire::osi::ber;

use kumiki_osi::entries::{Entries, abort_below, end_below, tell_aborted};
use kumiki_osi::layer::Ends;

mod connection;
mod document;
pub mod negotiation;
mod receive;
mod regime;
mod send;
pub mod states;
#[cfg(test)]
mod tests;

use connection::{Connection, Phase};
pub use negotiation::{Capabilities, objection};
pub use states::{Machine, Side, State, StateError, Step};

/// The file service (ISO 8571-3): its users also speak [`Primitive`].
pub const SERVICE: Service = Service::CONNECTION.named("FTAM");

/// Association control.
const ACSE: Below = Below(0);

/// The user of an association answers F-INITIALIZE within [`Config::timeout`].
const ANSWER_TIMER: u32 = 0;

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// What is asked for, and agreed to, where the user says nothing.
    #[setting(with = functional_units)]
    pub capabilities: Capabilities,
    /// Abstract syntaxes beside FTAM-PCI for which contexts are proposed, and accepted.
    #[setting(skip)]
    pub abstract_syntaxes: Vec<Oid>,
    /// The most octets of FPDUs in one value from a peer.
    #[setting(1024..=1 << 24, octets)]
    pub max_fpdu: u32,
    /// The most values of a P-DATA from a peer.
    #[setting(1..=65_536)]
    pub values: u32,
    /// How long the user may take to answer F-INITIALIZE.
    ///
    /// Less than the caller's session waits for an answer.
    #[setting(positive)]
    pub timeout: Duration,
    /// The most associations at a time.
    #[setting(1..=1_000_000)]
    pub associations: u32,
}

/// What ISODE asks for, and FTAM-FADU.
/// The names of functional units in settings.
const UNITS: [(&str, FunctionalUnits); 9] = [
    ("read", FunctionalUnits::READ),
    ("write", FunctionalUnits::WRITE),
    ("file-access", FunctionalUnits::FILE_ACCESS),
    ("limited-file-management", FunctionalUnits::LIMITED_FILE_MANAGEMENT),
    ("enhanced-file-management", FunctionalUnits::ENHANCED_FILE_MANAGEMENT),
    ("grouping", FunctionalUnits::GROUPING),
    ("fadu-locking", FunctionalUnits::FADU_LOCKING),
    ("recovery", FunctionalUnits::RECOVERY),
    ("restart-data-transfer", FunctionalUnits::RESTART_DATA_TRANSFER),
];

fn functional_units(capabilities: &mut Capabilities, reader: &Reader<'_>) -> Result<(), BuildError> {
    const MEANING: &str = "What is asked for where the user says nothing, and the most that is agreed to; none: \"read\", \"write\", both kinds of file management and \"grouping\".";
    const EXPECTED: &str = "names among \"read\", \"write\", \"file-access\", \"limited-file-management\", \"enhanced-file-management\", \"grouping\", \"fadu-locking\", \"recovery\", \"restart-data-transfer\"";
    let mut units = Vec::new();
    let unit = |text: &str| UNITS.iter().find(|(name, _)| *name == text).map(|(_, unit)| *unit);
    reader.list(&Key::new("functional_units", MEANING), EXPECTED, unit, &mut units)?;
    if let Some(units) = units.into_iter().reduce(|all, unit| all | unit) {
        capabilities.units = units;
    }
    Ok(())
}

impl Default for Config {
    fn default() -> Self {
        let document = ContentsTypeName::DocumentType;
        Self {
            capabilities: Capabilities {
                versions: ProtocolVersions::VERSION_1,
                implementation: None,
                classes: ServiceClasses::MANAGEMENT
                    | ServiceClasses::TRANSFER
                    | ServiceClasses::TRANSFER_AND_MANAGEMENT,
                units: FunctionalUnits::READ
                    | FunctionalUnits::WRITE
                    | FunctionalUnits::LIMITED_FILE_MANAGEMENT
                    | FunctionalUnits::ENHANCED_FILE_MANAGEMENT
                    | FunctionalUnits::GROUPING,
                attribute_groups: AttributeGroups::STORAGE,
                quality_of_service: QualityOfService::NoRecovery,
                contents_types: vec![
                    document(oids::FTAM_3),
                    document(oids::FTAM_1),
                    document(oids::NBS_9),
                    document(oids::NBS_9_OLD),
                ],
                checkpoint_window: 1,
            },
            abstract_syntaxes: vec![
                oids::UNSTRUCTURED_BINARY,
                oids::UNSTRUCTURED_TEXT,
                oids::NBS_9_ENTRIES,
                oids::NBS_9_ENTRIES_OLD,
                oids::FADU,
            ],
            max_fpdu: 64 * 1024,
            values: 256,
            timeout: Duration::from_secs(20),
            associations: 1024,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// FPDUs sent.
    pub sent: u64,
    /// FPDUs handed up.
    pub received: u64,
    /// Data elements sent.
    pub data_sent: u64,
    /// Data elements handed up.
    pub data_received: u64,
    /// FPDUs, values and checkpoints that came too late, after a cancel or restart.
    pub late: u64,
    /// Callers refused.
    pub refused: u64,
    /// Those of them that wanted another application context.
    pub strangers: u64,
    /// Protocol errors of peers.
    pub errors: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Ftam {
    config: Config,
    entries: Entries<Connection>,
    /// How the value begins that came last, for what is told of it where it is wrong; nothing where something else
    /// came.
    in_hand: Beginning,
    counters: Counters,
    refusal: Option<Reason>,
}

impl Ftam {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What came last: how a peer broke the protocol, a caller or not, or why a caller was refused by this layer. What
    /// its user says to a caller leaves nothing here.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.entries.connection(handle)
    }

    /// Gives up an association.
    fn forget(&mut self, own: Handle, cx: &mut Context<'_>) -> Option<Box<Connection>> {
        let mut connection = self.entries.forget(own)?;
        cx.clear_timer(&mut connection.ends.timer);
        Some(connection)
    }

    /// F-P-ABORT, to both sides.
    fn fail(&mut self, own: Handle, diagnostic: Diagnostic, cx: &mut Context<'_>) {
        let Some(connection) = self.forget(own, cx) else {
            return;
        };
        let what = match &diagnostic.further_details {
            Some(details) => details.to_string(),
            None => format!("error {}", diagnostic.error_identifier),
        };
        let abort = Fpdu::ProviderAbort(Box::new(Abort {
            action_result: ActionResult::PermanentError,
            diagnostic: vec![diagnostic],
        }));
        let data = Some(connection::written(&abort));
        end_below(ACSE, (own, connection.ends.lower), data, cx);
        connection.tell(abort, cx);
        let why = self.broken(what);
        connection.ends.tell_aborted(why, None, cx);
    }

    /// The peer has broken the protocol by the value in hand, so.
    fn broken(&mut self, what: String) -> Reason {
        self.counters.errors += 1;
        let why = Reason::violation_in(layer::FTAM, what, core::mem::take(&mut self.in_hand));
        self.refusal = Some(why.clone());
        why
    }

    /// As [`Ftam::fail`], for an error of this number that the peer has made.
    fn mistake(&mut self, own: Handle, number: i64, details: String, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let diagnostic = permanent(connection.side, number, details);
        self.fail(own, diagnostic, cx);
    }
}

/// A permanent error that the protocol machine here has seen, and the one across has made.
fn permanent(observer: Side, number: i64, details: String) -> Diagnostic {
    let machine = |side| match side {
        Side::Initiator => Entity::InitiatingMachine,
        Side::Responder => Entity::RespondingMachine,
    };
    Diagnostic {
        diagnostic_type: DiagnosticType::Permanent,
        error_identifier: number,
        error_observer: machine(observer),
        error_source: machine(observer.other()),
        suggested_delay: None,
        further_details: Some(details.into()),
    }
}

/// Error identifiers of ISO 8571-3, of those that are said here.
mod error {
    pub(super) const SHORT_OF_RESOURCES: i64 = 9;
    pub(super) const PROTOCOL: i64 = 1007;
    pub(super) const UNREADABLE: i64 = 1010;
    pub(super) const LOWER_LAYER: i64 = 1011;
    pub(super) const TIMEOUT: i64 = 1013;
    pub(super) const BAD_CHECKPOINT: i64 = 6000;
    pub(super) const OUTSIDE_WINDOW: i64 = 6002;
}

impl Protocol for Ftam {
    fn shape(&self) -> Shape {
        Shape { offers: Some(SERVICE), needs: &[acse::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, *open, cx),
            Request::Accept(accept) => self.accept(from, *accept, cx),
            Request::Data { session, data, end } => self.send_string(session, data, end, cx),
            Request::Special { session, what } => match what.take() {
                Some(primitive) => self.send(session, *primitive, cx),
                None => cx.drop("a primitive of another service"),
            },
            Request::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    let spent = connection.surplus.min(credit.messages);
                    connection.surplus -= spent;
                    connection.grant_credit(credit.messages - spent, cx);
                }
            }
            Request::Release { session, .. } => self.release(session, cx),
            Request::Abort { session, reason, .. } => self.abort(session, reason, None, cx),
            Request::Cancel { user } => {
                let own = self.entries.named(from, user, |it| (it.ends.above, it.ends.user));
                self.abort(own, Reason::User, None, cx);
            }
            Request::Expedited { .. } | Request::Manage(_) | Request::Reset { .. } | Request::Unit(_) => {
                cx.drop("a primitive of another service");
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.opened(opened, cx),
            Indication::Offered(offered) => self.offered(*offered, cx),
            Indication::Special { session, what } if what.is::<PData>() => {
                self.came(session, what.take::<PData>().map(|data| data.0).unwrap_or_default(), cx);
            }
            Indication::Special { session, what } => match what.take() {
                Some(primitive) => self.session_said(session, *primitive, cx),
                None => cx.drop("a primitive of another service"),
            },
            Indication::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    connection.room = connection.room.saturating_add(credit.messages);
                    connection.flush(cx);
                }
            }
            Indication::Released { session, data } => self.released(session, data, cx),
            Indication::Closed { session } => self.closed(session, cx),
            Indication::Aborted { session, reason, data } => self.ended(session, reason, data, cx),
            Indication::Data { .. } | Indication::Expedited { .. } | Indication::Reset { .. } | Indication::Unit(_) => {
                cx.drop("a primitive of another service");
            }
            Indication::Notice { .. } | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let own = token.session;
        let Some(connection) = self.connection(own) else {
            return;
        };
        if (token.kind, connection.ends.state) == (ANSWER_TIMER, Phase::Offered) {
            self.overdue(own, cx);
        }
    }
}
