//! Why a call was cleared, a channel reset or an interface restarted.

use core::fmt;

/// Which packet told it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CauseField {
    /// A call was cleared.
    Clear,
    /// A logical channel was reset.
    Reset,
    /// All of an interface was restarted.
    Restart,
}

/// The cause and the diagnostic code of a CLEAR, RESET or RESTART packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketCause {
    /// Which of them.
    pub what: CauseField,
    /// The cause; what it says depends on the packet. See [`cause`].
    pub cause: u8,
    /// The diagnostic code; 0 where none was given. See [`diagnostic`].
    pub diagnostic: u8,
}

impl PacketCause {
    /// What a DTE says: cause 0, DTE originated.
    #[must_use]
    pub const fn by_dte(what: CauseField, diagnostic: u8) -> Self {
        Self { what, cause: cause::DTE, diagnostic }
    }

    /// Whether the cause is "DTE originated", from a DTE or, with the upper bit, from a private network.
    #[must_use]
    pub const fn is_by_dte(&self) -> bool {
        self.cause == cause::DTE || self.cause & 0x80 != 0
    }

    /// The cause in words.
    #[must_use]
    pub const fn cause_text(&self) -> &'static str {
        if self.is_by_dte() {
            return "DTE originated";
        }
        match self.what {
            CauseField::Clear => clear_text(self.cause),
            CauseField::Reset => reset_text(self.cause),
            CauseField::Restart => restart_text(self.cause),
        }
    }
}

impl fmt::Display for PacketCause {
    /// For example `cleared: number busy (01), no additional information (0)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            CauseField::Clear => "cleared",
            CauseField::Reset => "reset",
            CauseField::Restart => "restarted",
        };
        let Self { cause, diagnostic, .. } = *self;
        let (why, more) = (self.cause_text(), diagnostic_text(diagnostic));
        write!(f, "{what}: {why} ({cause:02x}), {more} ({diagnostic})")
    }
}

/// What a peer or a network said of a call or a line, in the codes of the layer that said it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The packet layer cleared the call, reset the channel or restarted all of them.
    Packet(PacketCause),
    /// LAPB's peer refused a frame: the bits W (1), X (2), Y (4) and Z (8) of its FRMR (X.25 section 2.3.4).
    FrameRejected(u8),
    /// XOT's peer refused to set up a permanent virtual circuit: status of its answer ([`circuit_status`]).
    CircuitRefused(u8),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Packet(told) => write!(f, "X.25: {told}"),
            Self::FrameRejected(bits) => {
                write!(f, "LAPB: the peer refuses a frame of ours, {} (FRMR)", frame_reject(bits))
            }
            Self::CircuitRefused(status) => write!(f, "XOT: {} (status {status:02x})", circuit_status(status)),
        }
    }
}

/// What FRMR says of a frame; X always comes with W.
const fn frame_reject(bits: u8) -> &'static str {
    if bits & 2 != 0 {
        "with information that it may not have, or too little of it"
    } else if bits & 1 != 0 {
        "of an unknown kind"
    } else if bits & 4 != 0 {
        "with too much information"
    } else if bits & 8 != 0 {
        "that acknowledges what was not sent"
    } else {
        "and does not say why"
    }
}

/// Causes of CLEAR, RESET and RESTART (X.25 tables 5-7, 5-8 and 5-9).
pub mod cause {
    /// Of all three: DTE originated.
    pub const DTE: u8 = 0x00;
    /// CLEAR: number busy.
    pub const BUSY: u8 = 0x01;
    /// CLEAR: invalid facility request.
    pub const FACILITY: u8 = 0x03;
    /// CLEAR: network congestion.
    pub const CLEAR_CONGESTION: u8 = 0x05;
    /// CLEAR: out of order.
    pub const CLEAR_OUT_OF_ORDER: u8 = 0x09;
    /// CLEAR: access barred.
    pub const BARRED: u8 = 0x0b;
    /// CLEAR: not obtainable.
    pub const NOT_OBTAINABLE: u8 = 0x0d;
    /// CLEAR: remote procedure error.
    pub const CLEAR_REMOTE: u8 = 0x11;
    /// CLEAR: local procedure error.
    pub const CLEAR_LOCAL: u8 = 0x13;
    /// CLEAR: RPOA out of order.
    pub const RPOA: u8 = 0x15;
    /// CLEAR: reverse charging acceptance not subscribed.
    pub const REVERSE: u8 = 0x19;
    /// CLEAR: incompatible destination.
    pub const CLEAR_INCOMPATIBLE: u8 = 0x21;
    /// CLEAR: fast select acceptance not subscribed.
    pub const FAST_SELECT: u8 = 0x29;
    /// CLEAR: ship absent.
    pub const ABSENT: u8 = 0x39;
    /// RESET: out of order (permanent virtual circuits).
    pub const RESET_OUT_OF_ORDER: u8 = 0x01;
    /// RESET: remote procedure error.
    pub const RESET_REMOTE: u8 = 0x03;
    /// RESET: local procedure error.
    pub const RESET_LOCAL: u8 = 0x05;
    /// RESET: network congestion.
    pub const RESET_CONGESTION: u8 = 0x07;
    /// RESET: remote DTE operational (permanent virtual circuits).
    pub const RESET_REMOTE_UP: u8 = 0x09;
    /// RESET: network operational (permanent virtual circuits).
    pub const RESET_NETWORK_UP: u8 = 0x0f;
    /// RESET: incompatible destination.
    pub const RESET_INCOMPATIBLE: u8 = 0x11;
    /// RESET: network out of order (permanent virtual circuits).
    pub const RESET_NETWORK_DOWN: u8 = 0x1d;
    /// RESTART: local procedure error.
    pub const RESTART_LOCAL: u8 = 0x01;
    /// RESTART: network congestion.
    pub const RESTART_CONGESTION: u8 = 0x03;
    /// RESTART: network operational.
    pub const RESTART_UP: u8 = 0x07;
    /// RESTART: registration or cancellation confirmed.
    pub const REGISTRATION: u8 = 0x7f;
}

/// The status of a PVC set-up over XOT in words (RFC 1613 section 6.5).
#[must_use]
pub const fn circuit_status(status: u8) -> &'static str {
    match status {
        0x00 => "waiting to connect",
        0x08 => "destination disconnected",
        0x09 => "connection refused",
        0x0a => "routing error",
        0x0b => "connect timed out",
        0x10 => "trying to connect",
        0x11 => "awaiting the answer",
        0x12 => "connected",
        0x13 => "no such destination interface",
        0x14 => "destination interface is not up",
        0x15 => "destination interface without X.25",
        0x16 => "no such destination PVC",
        0x17 => "destination PVC configuration mismatch",
        0x18 => "mismatched flow control values",
        0x19 => "flow control values that cannot be supported",
        0x1a => "PVC set-up protocol error",
        _ => "unknown status",
    }
}

const fn clear_text(cause: u8) -> &'static str {
    match cause {
        cause::BUSY => "number busy",
        cause::FACILITY => "invalid facility request",
        cause::CLEAR_CONGESTION => "network congestion",
        cause::CLEAR_OUT_OF_ORDER => "out of order",
        cause::BARRED => "access barred",
        cause::NOT_OBTAINABLE => "not obtainable",
        cause::CLEAR_REMOTE => "remote procedure error",
        cause::CLEAR_LOCAL => "local procedure error",
        cause::RPOA => "RPOA out of order",
        cause::REVERSE => "reverse charging acceptance not subscribed",
        cause::CLEAR_INCOMPATIBLE => "incompatible destination",
        cause::FAST_SELECT => "fast select acceptance not subscribed",
        cause::ABSENT => "ship absent",
        _ => "unknown cause",
    }
}

const fn reset_text(cause: u8) -> &'static str {
    match cause {
        cause::RESET_OUT_OF_ORDER => "out of order",
        cause::RESET_REMOTE => "remote procedure error",
        cause::RESET_LOCAL => "local procedure error",
        cause::RESET_CONGESTION => "network congestion",
        cause::RESET_REMOTE_UP => "remote DTE operational",
        cause::RESET_NETWORK_UP => "network operational",
        cause::RESET_INCOMPATIBLE => "incompatible destination",
        cause::RESET_NETWORK_DOWN => "network out of order",
        _ => "unknown cause",
    }
}

const fn restart_text(cause: u8) -> &'static str {
    match cause {
        cause::RESTART_LOCAL => "local procedure error",
        cause::RESTART_CONGESTION => "network congestion",
        cause::RESTART_UP => "network operational",
        cause::REGISTRATION => "registration or cancellation confirmed",
        _ => "unknown cause",
    }
}

/// Diagnostic codes (X.25 annex E; those from 128 on of ISO 8208 figure 14).
pub mod diagnostic {
    /// No additional information.
    pub const NONE: u8 = 0;
    /// Invalid P(S).
    pub const PS: u8 = 1;
    /// Invalid P(R).
    pub const PR: u8 = 2;
    /// Packet type invalid.
    pub const TYPE: u8 = 16;
    /// Packet type invalid for state r1; r2 and r3 are the next two.
    pub const R1: u8 = 17;
    /// Packet type invalid for state p1; p2 to p7 are the next six.
    pub const P1: u8 = 20;
    /// Packet type invalid for state d1; d2 and d3 are the next two.
    pub const D1: u8 = 27;
    /// Packet not allowed.
    pub const NOT_ALLOWED: u8 = 32;
    /// Unidentifiable packet.
    pub const UNIDENTIFIABLE: u8 = 33;
    /// Call on a one-way logical channel.
    pub const ONE_WAY: u8 = 34;
    /// Invalid packet type on a permanent virtual circuit.
    pub const ON_PVC: u8 = 35;
    /// Packet on an unassigned logical channel.
    pub const UNASSIGNED: u8 = 36;
    /// REJECT not subscribed to.
    pub const REJECT: u8 = 37;
    /// Packet too short.
    pub const SHORT: u8 = 38;
    /// Packet too long.
    pub const LONG: u8 = 39;
    /// Invalid general format identifier.
    pub const GFI: u8 = 40;
    /// Restart or registration packet with bits set in its logical channel.
    pub const RESTART_CHANNEL: u8 = 41;
    /// Packet type not compatible with facility.
    pub const NOT_COMPATIBLE: u8 = 42;
    /// Unauthorised interrupt confirmation.
    pub const INTERRUPT_CONFIRMATION: u8 = 43;
    /// Unauthorised interrupt.
    pub const INTERRUPT: u8 = 44;
    /// Unauthorised reject.
    pub const UNAUTHORISED_REJECT: u8 = 45;
    /// Timer expired.
    pub const TIMER: u8 = 48;
    /// Timer expired for an incoming call (or a call request).
    pub const TIMER_CALL: u8 = 49;
    /// Timer expired for a clear indication.
    pub const TIMER_CLEAR: u8 = 50;
    /// Timer expired for a reset indication.
    pub const TIMER_RESET: u8 = 51;
    /// Timer expired for a restart indication.
    pub const TIMER_RESTART: u8 = 52;
    /// Call set-up, clearing or registration problem.
    pub const CALL: u8 = 64;
    /// Facility or registration code not allowed.
    pub const FACILITY_CODE: u8 = 65;
    /// Facility parameter not allowed.
    pub const FACILITY: u8 = 66;
    /// Invalid called DTE address.
    pub const CALLED: u8 = 67;
    /// Invalid calling DTE address.
    pub const CALLING: u8 = 68;
    /// Invalid facility or registration length.
    pub const FACILITY_LENGTH: u8 = 69;
    /// Incoming call barred.
    pub const BARRED: u8 = 70;
    /// No logical channel available.
    pub const NO_CHANNEL: u8 = 71;
    /// Call collision.
    pub const COLLISION: u8 = 72;
    /// Duplicate facility requested.
    pub const DUPLICATE: u8 = 73;
    /// Non-zero address length.
    pub const ADDRESS_LENGTH: u8 = 74;
    /// Non-zero facility length.
    pub const NONZERO_FACILITY: u8 = 75;
    /// Facility not provided when expected.
    pub const FACILITY_MISSING: u8 = 76;
    /// Improper cause code from DTE.
    pub const CAUSE: u8 = 81;
    /// Not aligned to octets.
    pub const ALIGNMENT: u8 = 82;
    /// Inconsistent Q bit setting.
    pub const Q_BIT: u8 = 83;
    /// NUI problem: a network user identification is missing or not known.
    pub const NUI: u8 = 84;
    /// ISO 8208: timer expired, or retransmission count surpassed, for an interrupt.
    pub const RETRY_INTERRUPT: u8 = 145;
    /// ISO 8208: the same for data.
    pub const RETRY_DATA: u8 = 146;
    /// ISO 8208: the same for REJECT.
    pub const RETRY_REJECT: u8 = 147;
    /// ISO 8208: DTE operational.
    pub const DTE_UP: u8 = 161;
    /// ISO 8208: DTE not operational.
    pub const DTE_DOWN: u8 = 162;
    /// ISO 8208: resource constraint of the DTE.
    pub const RESOURCES: u8 = 163;
    /// ISO 8208: a packet that is not full, with M = 1 and D = 0.
    pub const M_BIT: u8 = 165;
    /// ISO 8208: D bit procedure not supported.
    pub const D_BIT: u8 = 166;
    /// ISO 8208: OSI network service, disconnection, normal.
    pub const NORMAL: u8 = 241;
    /// ISO 8208: OSI network service, disconnection, abnormal.
    pub const ABNORMAL: u8 = 242;
    /// ISO 8208: OSI network service, connection rejected, incompatible information in user data.
    pub const INCOMPATIBLE_DATA: u8 = 248;
    /// ISO 8208: OSI network service, connection rejected, unrecognisable protocol identifier in user data.
    pub const UNRECOGNISED_PROTOCOL: u8 = 249;
}

/// A diagnostic code in words.
#[must_use]
pub const fn diagnostic_text(code: u8) -> &'static str {
    match code {
        0 => "no additional information",
        1 => "invalid P(S)",
        2 => "invalid P(R)",
        16 => "packet type invalid",
        17 => "packet type invalid for state r1",
        18 => "packet type invalid for state r2",
        19 => "packet type invalid for state r3",
        20 => "packet type invalid for state p1",
        21 => "packet type invalid for state p2",
        22 => "packet type invalid for state p3",
        23 => "packet type invalid for state p4",
        24 => "packet type invalid for state p5",
        25 => "packet type invalid for state p6",
        26 => "packet type invalid for state p7",
        27 => "packet type invalid for state d1",
        28 => "packet type invalid for state d2",
        29 => "packet type invalid for state d3",
        32 => "packet not allowed",
        33 => "unidentifiable packet",
        34 => "call on one-way logical channel",
        35 => "invalid packet type on a permanent virtual circuit",
        36 => "packet on unassigned logical channel",
        37 => "reject not subscribed to",
        38 => "packet too short",
        39 => "packet too long",
        40 => "invalid general format identifier",
        41 => "restart with non-zero logical channel",
        42 => "packet type not compatible with facility",
        43 => "unauthorised interrupt confirmation",
        44 => "unauthorised interrupt",
        45 => "unauthorised reject",
        48 => "timer expired",
        49 => "timer expired for incoming call",
        50 => "timer expired for clear indication",
        51 => "timer expired for reset indication",
        52 => "timer expired for restart indication",
        53 => "timer expired for call deflection",
        64 => "call set-up, clearing or registration problem",
        65 => "facility code not allowed",
        66 => "facility parameter not allowed",
        67 => "invalid called DTE address",
        68 => "invalid calling DTE address",
        69 => "invalid facility length",
        70 => "incoming call barred",
        71 => "no logical channel available",
        72 => "call collision",
        73 => "duplicate facility requested",
        74 => "non-zero address length",
        75 => "non-zero facility length",
        76 => "facility not provided when expected",
        77 => "invalid CCITT-specified DTE facility",
        80 => "miscellaneous",
        81 => "improper cause code from DTE",
        82 => "not aligned octet",
        83 => "inconsistent Q bit setting",
        84 => "NUI problem",
        112 => "international problem",
        113 => "remote network problem",
        114 => "international protocol problem",
        115 => "international link out of order",
        116 => "international link busy",
        117 => "transit network facility problem",
        118 => "remote network facility problem",
        119 => "international routing problem",
        120 => "temporary routing problem",
        121 => "unknown called DNIC",
        122 => "maintenance action",
        144 => "timer expired or retransmission count surpassed",
        145 => "timer expired or retransmission count surpassed for interrupt",
        146 => "timer expired or retransmission count surpassed for data",
        147 => "timer expired or retransmission count surpassed for reject",
        160 => "DTE-specific signal",
        161 => "DTE operational",
        162 => "DTE not operational",
        163 => "DTE resource constraint",
        164 => "fast select not subscribed",
        165 => "invalid partially full data packet",
        166 => "D bit procedure not supported",
        167 => "registration or cancellation confirmed",
        224 => "OSI network service problem",
        225 => "disconnection, transient",
        226 => "disconnection, permanent",
        227 => "connection rejected, reason unspecified, transient",
        228 => "connection rejected, reason unspecified, permanent",
        229 => "connection rejected, quality of service not available, transient",
        230 => "connection rejected, quality of service not available, permanent",
        231 => "connection rejected, NSAP unreachable, transient",
        232 => "connection rejected, NSAP unreachable, permanent",
        233 => "reset, reason unspecified",
        234 => "reset, congestion",
        235 => "connection rejected, NSAP address unknown",
        240 => "higher layer initiated",
        241 => "disconnection, normal",
        242 => "disconnection, abnormal",
        243 => "disconnection, incompatible information in user data",
        244 => "connection rejected, reason unspecified, transient",
        245 => "connection rejected, reason unspecified, permanent",
        246 => "connection rejected, quality of service not available, transient",
        247 => "connection rejected, quality of service not available, permanent",
        248 => "connection rejected, incompatible information in user data",
        249 => "connection rejected, unrecognisable protocol identifier in user data",
        250 => "reset, user resynchronisation",
        _ => "unassigned diagnostic",
    }
}
