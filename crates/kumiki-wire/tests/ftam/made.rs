//! Values of every type, made from octets: all zero is the simplest of each.

use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::access::*;
use kumiki_osi_service::ftam::attributes::*;
use kumiki_osi_service::ftam::bulk::*;
use kumiki_osi_service::ftam::contents::*;
use kumiki_osi_service::ftam::file::*;
use kumiki_osi_service::ftam::management::*;
use kumiki_osi_service::ftam::regime::*;
use kumiki_osi_service::ftam::scope::*;
use kumiki_osi_service::ftam::*;

/// Where choices come from.
pub(crate) struct Source<'a> {
    octets: &'a [u8],
    /// Leaves out what tshark 4.0.17 cannot read: the description of an EXTERNAL (it takes it for an OCTET STRING), one
    /// without a direct reference (it does not look at the presentation context), and an application entity title (it
    /// takes it for a number). And what is right here and not there: large numbers, dates that are none, zeros in a
    /// text.
    for_tshark: bool,
}

impl<'a> Source<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self { octets, for_tshark: false }
    }

    pub(crate) const fn for_tshark(octets: &'a [u8]) -> Self {
        Self { octets, for_tshark: true }
    }
}

impl Source<'_> {
    fn octet(&mut self) -> u8 {
        let (octet, rest) = self.octets.split_first().unwrap_or((&0, &[]));
        self.octets = rest;
        *octet
    }

    fn below(&mut self, n: u8) -> u8 {
        self.octet() % n
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        let n = u8::try_from(all.len()).unwrap();
        all[usize::from(self.below(n))].clone()
    }
}

pub(crate) trait Make: Sized {
    fn make(from: &mut Source<'_>) -> Self;
}

/// Structures, field by field.
macro_rules! made {
    ($($type:ident { $($field:ident)* })*) => {
        $(impl Make for $type {
            fn make(from: &mut Source<'_>) -> Self {
                let _ = &from;
                Self { $($field: Make::make(from)),* }
            }
        })*
    };
}

/// Enumerations without fields.
macro_rules! chosen {
    ($($type:ident { $($variant:ident)* })*) => {
        $(impl Make for $type {
            fn make(from: &mut Source<'_>) -> Self {
                from.one_of(&[$(Self::$variant),*])
            }
        })*
    };
}

/// Enumerations of which each variant has one field.
macro_rules! varied {
    ($($type:ident { $($variant:ident)* })*) => {
        $(impl Make for $type {
            fn make(from: &mut Source<'_>) -> Self {
                let make: &[fn(&mut Source<'_>) -> Self] = &[$(|from| Self::$variant(Make::make(from))),*];
                from.one_of(make)(from)
            }
        })*
    };
}

macro_rules! bits {
    ($($type:ident)*) => {
        $(impl Make for $type {
            fn make(from: &mut Source<'_>) -> Self {
                let n = from.below(4);
                (0..n).fold(Self::NONE, |all, _| all | from.one_of(Self::NAMED).0)
            }
        })*
    };
}

impl Make for bool {
    fn make(from: &mut Source<'_>) -> Self {
        from.below(2) == 1
    }
}

impl Make for i64 {
    fn make(from: &mut Source<'_>) -> Self {
        let n = usize::from(from.below(if from.for_tshark { 4 } else { 9 }));
        let mut octets = [0; 8];
        octets[..n].fill_with(|| from.octet());
        Self::from_le_bytes(octets)
    }
}

impl Make for u64 {
    fn make(from: &mut Source<'_>) -> Self {
        i64::make(from).unsigned_abs().min(i64::MAX.unsigned_abs())
    }
}

impl Make for u32 {
    fn make(from: &mut Source<'_>) -> Self {
        Self::try_from(u64::make(from) >> 32).unwrap()
    }
}

impl<T: Make> Make for Option<T> {
    fn make(from: &mut Source<'_>) -> Self {
        bool::make(from).then(|| T::make(from))
    }
}

impl<T: Make> Make for Box<T> {
    fn make(from: &mut Source<'_>) -> Self {
        Self::new(T::make(from))
    }
}

impl<T: Make> Make for Vec<T> {
    fn make(from: &mut Source<'_>) -> Self {
        let n = from.below(4);
        (0..n).map(|_| T::make(from)).collect()
    }
}

impl Make for u8 {
    fn make(from: &mut Source<'_>) -> Self {
        from.octet()
    }
}

impl Make for (Oid, Any) {
    fn make(from: &mut Source<'_>) -> Self {
        (Make::make(from), Make::make(from))
    }
}

impl Make for Oid {
    fn make(from: &mut Source<'_>) -> Self {
        let arcs = [1, 3, u64::from(from.octet()), u64::make(from)];
        Self::from_arcs(&arcs).unwrap()
    }
}

impl Make for Any {
    fn make(from: &mut Source<'_>) -> Self {
        let all: [&[u8]; 4] =
            [&[5, 0], &[0x30, 3, 2, 1, 9], &[0x30, 0x80, 4, 1, 0x55, 0, 0], &[0xbf, 0x81, 0x01, 0x02, 0x13, 0]];
        Self(from.one_of(&all).to_vec())
    }
}

impl Make for GraphicString {
    fn make(from: &mut Source<'_>) -> Self {
        let mut octets = Vec::<u8>::make(from);
        if from.for_tshark {
            octets.iter_mut().for_each(|octet| *octet = b'A' + *octet % 26);
        }
        Self::from(octets)
    }
}

impl Make for GeneralizedTime {
    fn make(from: &mut Source<'_>) -> Self {
        let all = ["", "01261215201523Z", "20261215201523.5+0100", "not known"];
        if from.for_tshark {
            return Self::written(b"20261215201523Z");
        }
        Self::written(from.one_of(&all).as_bytes())
    }
}

impl Make for Password {
    fn make(from: &mut Source<'_>) -> Self {
        if bool::make(from) { Self::Octets(Make::make(from)) } else { Self::Text(Make::make(from)) }
    }
}

impl Make for External {
    fn make(from: &mut Source<'_>) -> Self {
        let indirect_reference: Option<i64> = Make::make(from);
        if from.for_tshark {
            return Self {
                direct_reference: Some(Make::make(from)),
                indirect_reference,
                descriptor: None,
                encoding: ExternalEncoding::OctetAligned(Make::make(from)),
            };
        }
        Self {
            direct_reference: indirect_reference.is_none().then(|| Make::make(from)),
            indirect_reference,
            descriptor: bool::make(from).then(|| "for people".into()),
            encoding: match from.below(3) {
                0 => ExternalEncoding::SingleAsn1(Make::make(from)),
                1 => ExternalEncoding::OctetAligned(Make::make(from)),
                _ => ExternalEncoding::Arbitrary { unused: from.below(8), octets: vec![from.octet()] },
            },
        }
    }
}

impl<T: Make> Make for Attribute<T> {
    fn make(from: &mut Source<'_>) -> Self {
        if bool::make(from) { Self::NoValueAvailable } else { Self::Actual(Make::make(from)) }
    }
}

impl<T: Make> Make for PerAction<T> {
    fn make(from: &mut Source<'_>) -> Self {
        Self {
            read: Make::make(from),
            insert: Make::make(from),
            replace: Make::make(from),
            extend: Make::make(from),
            erase: Make::make(from),
            read_attribute: Make::make(from),
            change_attribute: Make::make(from),
            delete: Make::make(from),
        }
    }
}

impl Make for AccessContext {
    fn make(from: &mut Source<'_>) -> Self {
        match from.below(7) {
            0 => Self::UnstructuredAll,
            1 => Self::HierarchicalAll,
            2 => Self::HierarchicalNone,
            3 => Self::FlatAll,
            4 => Self::FlatLevel(Make::make(from)),
            5 => Self::FlatSingle,
            _ => Self::UnstructuredSingle,
        }
    }
}

impl Make for FaduIdentity {
    fn make(from: &mut Source<'_>) -> Self {
        match from.below(10) {
            0 => Self::First,
            1 => Self::Last,
            2 => Self::Previous,
            3 => Self::Current,
            4 => Self::Next,
            5 => Self::Begin,
            6 => Self::End,
            7 => Self::SingleName(Make::make(from)),
            8 => Self::NameList(Make::make(from)),
            _ => Self::Number(Make::make(from)),
        }
    }
}

impl Make for AccessControlElement {
    fn make(from: &mut Source<'_>) -> Self {
        Self {
            action_list: Make::make(from),
            concurrency_access: Make::make(from),
            identity: Make::make(from),
            passwords: Make::make(from),
            // An application entity title has two parts, of any type.
            location: (bool::make(from) && !from.for_tshark).then(|| Any(vec![0x30, 5, 6, 1, 0x2a, 5, 0])),
        }
    }
}

impl Make for PrivateUse {
    fn make(from: &mut Source<'_>) -> Self {
        match from.below(3) {
            0 => Self::NoValueAvailable,
            1 => Self::AbstractSyntaxNotSupported,
            _ => Self::Actual(Make::make(from)),
        }
    }
}

impl Make for ContentsType {
    fn make(from: &mut Source<'_>) -> Self {
        use DocumentParameter as P;
        let document = |name, parameter| Self::Document { name, parameter };
        match from.below(6) {
            0 => Self::binary(),
            1 => document(oids::FTAM_2, Some(P::Strings(Make::make(from)))),
            2 => Self::directory(Make::make(from)),
            3 => document(Make::make(from), None),
            4 => document(Make::make(from), Some(P::Other(Make::make(from)))),
            _ => Self::ConstraintSet { constraint_set: Make::make(from), abstract_syntax: Make::make(from) },
        }
    }
}

impl Make for Piece {
    fn make(from: &mut Source<'_>) -> Self {
        match from.below(3) {
            0 => Self::Any,
            1 => Self::Substring(Make::make(from)),
            _ => Self::Characters(Make::make(from)),
        }
    }
}

impl Make for ContentsTypePattern {
    fn make(from: &mut Source<'_>) -> Self {
        if bool::make(from) {
            return Self::DocumentType(Make::make(from));
        }
        Self::ConstraintSet { constraint_set: Make::make(from), abstract_syntax: Make::make(from) }
    }
}

bits! {
    AccessRequest AttributeGroups AttributeNames EqualityComparison FunctionalUnits LockKeys PermittedActions
    ProcessingMode ProtocolVersions RelationalComparison ServiceClasses
}

chosen! {
    Lock { NotRequired Shared Exclusive NoAccess }
    FaduOperation { Insert Replace Extend }
    FaduLock { Off On }
    ObjectType { File FileDirectory Reference }
    Availability { Immediate Deferred }
    Significance { Variable Fixed NotSignificant }
    StringClass { Printable Teletex Videotex Ia5 Graphic Visible General }
    StateResult { Success Failure }
    ActionResult { Success TransientError PermanentError }
    DiagnosticType { Informative Transient Permanent }
    Entity { Unknown InitiatingUser InitiatingMachine SupportingService RespondingMachine RespondingUser }
    QualityOfService { NoRecovery Class1 Class2 Class3 }
    Override { CreateFailure SelectOldObject DeleteAndCreateWithOldAttributes DeleteAndCreateWithNewAttributes }
    RecoveryMode { None AtStartOfFile AtAnyActiveCheckpoint }
    DegreeOfOverlap { Normal Consecutive Concurrent }
    RequestType { Read Write }
    RetrievalScope { Child All }
}

varied! {
    Pathname { Incomplete Complete }
    ContentsTypeName { DocumentType AbstractSyntax }
    Assertion {
        Pathname ObjectType PermittedActions ContentsType LinkedObject ChildObjects PrimaryPathname StorageAccount Created Modified
        Read AttributesModified Creator Modifier Reader AttributeModifier Availability Size FutureSize LegalQualification
    }
}

made! {
    StringParameter { universal_class maximum_length significance }
    AccessPasswords { actions pass link }
    AccessControlChange { insert_values delete_values }
    ExtensionSet { identifier attributes }
    ExtensionNames { identifier names }
    CreateAttributes {
        pathname object_type permitted_actions contents_type storage_account availability future_size access_control
        path_access_control legal_qualification private_use extensions
    }
    ChangeAttributes {
        pathname storage_account availability future_size access_control path_access_control legal_qualification private_use
        extensions
    }
    ReadAttributes {
        pathname object_type permitted_actions contents_type linked_object child_objects primary_pathname storage_account
        created modified read attributes_modified creator modifier reader attribute_modifier availability size future_size
        access_control path_access_control legal_qualification private_use extensions
    }
    Scope { root_directory retrieval_scope }
    PathnamePattern { comparison value }
    StringPattern { comparison value }
    ActionsPattern { comparison value significance }
    DatePattern { comparison value }
    IntegerPattern { comparison value }
    BooleanPattern { comparison value }
    OidPattern { comparison value }
    Diagnostic { diagnostic_type error_identifier error_observer error_source suggested_delay further_details }
    Charge { resource_identifier charging_unit charging_value }
    InitializeRequest {
        protocol_version implementation_information presentation_context_management service_class functional_units
        attribute_groups shared_ase_information quality_of_service contents_type_list initiator_identity account
        filestore_password checkpoint_window
    }
    InitializeResponse {
        state_result action_result protocol_version implementation_information presentation_context_management service_class
        functional_units attribute_groups shared_ase_information quality_of_service contents_type_list diagnostic
        checkpoint_window
    }
    TerminateRequest { shared_ase_information }
    TerminateResponse { shared_ase_information charging }
    Abort { action_result diagnostic }
    SelectRequest {
        pathname requested_access access_passwords path_access_passwords concurrency_control shared_ase_information account
    }
    SelectResponse { state_result action_result pathname referent_indicator shared_ase_information diagnostic }
    DeselectRequest { shared_ase_information }
    DeselectResponse { action_result charging shared_ase_information diagnostic }
    CreateRequest {
        override_ initial_attributes create_password requested_access access_passwords path_access_passwords
        concurrency_control shared_ase_information account
    }
    CreateResponse { state_result action_result initial_attributes shared_ase_information diagnostic }
    DeleteRequest { shared_ase_information }
    DeleteResponse { action_result shared_ase_information charging diagnostic }
    ReadAttribRequest { attribute_names attribute_extension_names }
    ReadAttribResponse { action_result attributes diagnostic }
    ChangeAttribRequest { attributes }
    ChangeAttribResponse { action_result attributes diagnostic }
    OpenRequest {
        processing_mode contents_type concurrency_control shared_ase_information enable_fadu_locking activity_identifier
        recovery_mode remove_contexts define_contexts degree_of_overlap transfer_window
    }
    OpenResponse {
        state_result action_result contents_type concurrency_control shared_ase_information diagnostic recovery_mode
        presentation_action degree_of_overlap transfer_window
    }
    Close { action_result shared_ase_information diagnostic }
    BeginGroupRequest { threshold }
    RecoverRequest {
        activity_identifier bulk_transfer_number requested_access access_passwords recovery_point remove_contexts
        define_contexts concurrent_bulk_transfer_number concurrent_recovery_point last_transfer_end_read_response
        last_transfer_end_write_response
    }
    RecoverResponse {
        state_result action_result contents_type recovery_point diagnostic presentation_action concurrent_recovery_point
        last_transfer_end_read_request last_transfer_end_write_request
    }
    LocateRequest { fadu_identity fadu_lock }
    LocateResponse { action_result fadu_identity diagnostic }
    EraseRequest { fadu_identity }
    EraseResponse { action_result diagnostic }
    ReadRequest { fadu_identity access_context fadu_lock transfer_number }
    WriteRequest { fadu_operation fadu_identity fadu_lock transfer_number }
    DataEnd { action_result diagnostic }
    TransferEndRequest {
        shared_ase_information request_type transfer_number last_transfer_end_read_response last_transfer_end_write_response
    }
    TransferEndResponse { action_result shared_ase_information diagnostic request_type transfer_number }
    Cancel {
        action_result shared_ase_information diagnostic request_type transfer_number last_transfer_end_read_request
        last_transfer_end_read_response last_transfer_end_write_request last_transfer_end_write_response
    }
    Restart {
        checkpoint_identifier request_type transfer_number last_transfer_end_read_request last_transfer_end_read_response
        last_transfer_end_write_request last_transfer_end_write_response
    }
    ChangePrefixRequest { reset destination_file_directory access_passwords path_access_passwords }
    ChangePrefixResponse { action_result destination_file_directory diagnostic }
    ListRequest {
        attribute_value_assertions scope access_passwords path_access_passwords attribute_names attribute_extension_names
    }
    ListResponse { action_result objects diagnostic }
}

/// An FPDU of this kind.
pub(crate) fn fpdu(kind: Kind, from: &mut Source<'_>) -> Fpdu {
    macro_rules! of {
        ($($kind:ident)*) => {
            match kind {
                $(Kind::$kind => Fpdu::$kind(Make::make(from)),)*
                Kind::BeginGroupResponse => Fpdu::BeginGroupResponse,
                Kind::EndGroupRequest => Fpdu::EndGroupRequest,
                Kind::EndGroupResponse => Fpdu::EndGroupResponse,
                kind => {
                    let fields: Vec<Any> = Make::make(from);
                    let content = fields.into_iter().flat_map(|any| any.0).collect();
                    Fpdu::Raw(Raw { kind, content })
                }
            }
        };
    }
    of! {
        InitializeRequest InitializeResponse TerminateRequest TerminateResponse UserAbort ProviderAbort
        SelectRequest SelectResponse DeselectRequest DeselectResponse CreateRequest CreateResponse
        DeleteRequest DeleteResponse ReadAttribRequest ReadAttribResponse
        ChangeAttribRequest ChangeAttribResponse OpenRequest OpenResponse CloseRequest CloseResponse
        BeginGroupRequest RecoverRequest RecoverResponse LocateRequest LocateResponse
        EraseRequest EraseResponse ReadRequest WriteRequest DataEndRequest
        TransferEndRequest TransferEndResponse CancelRequest CancelResponse RestartRequest RestartResponse
        ChangePrefixRequest ChangePrefixResponse ListRequest ListResponse
    }
}
