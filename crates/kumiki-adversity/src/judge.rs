//! Whether what came of a case is what the case allows.

use kumiki_graph::{Instant, Reason};

use super::case::{Case, End, Opening, Transport};
use super::checker::Violation;
use super::user::{ConnectionEnd, Report};

pub(super) mod liveness;
mod xtp;

/// What the witness of one end can say at the end.
pub(super) struct Evidence {
    /// The first rule that the end broke.
    pub(super) broken: Option<Violation>,
    /// How often it sent the same thing again without an answer.
    pub(super) in_vain: u32,
    /// It sent a reset.
    pub(super) reset_sent: bool,
    /// A reset reached it.
    pub(super) reset_came: bool,
    /// Packets at the plug, intact ones on arrival.
    pub(super) packets: u64,
    /// PDUs that reached the host damaged.
    pub(super) damaged: u64,
    /// A number that any difference in what was seen changes.
    pub(super) hash: u64,
}

/// A call may be given up after so many repetitions of the SYN: 4.3BSD's, the fewest of our profiles.
const SYN_REPETITIONS: u32 = 2;
/// R2 is more than R1, which is at least 3 repetitions (SHLD-10).
const REPETITIONS: u32 = 3;

/// The first thing in time that should not have happened.
pub(super) fn first(
    case: &Case,
    ends: &[Report; 2],
    evidence: &[Evidence; 2],
    complaints: [Option<(Instant, String)>; 2],
    late: Option<Violation>,
    left: Option<(usize, String)>,
    now: Instant,
) -> Option<Violation> {
    let mut found: Vec<Violation> = evidence.iter().filter_map(|evidence| evidence.broken.clone()).collect();
    for (end, complaint) in complaints.into_iter().enumerate() {
        if let Some((at, what)) = complaint {
            let rule = "delivery";
            found.push(Violation { at, end, rule, what });
        }
    }
    found.extend(late);
    if found.is_empty() {
        found.extend(endings(case, ends, evidence));
    }
    if found.is_empty()
        && let Some((end, what)) = left
    {
        let rule = "leak";
        found.push(Violation { at: now, end, rule, what });
    }
    found.into_iter().min_by_key(|violation| violation.at)
}

/// Endings that the case has no reason for, and octets that are missing in spite of an orderly end.
fn endings<'a>(
    case: &'a Case,
    ends: &'a [Report; 2],
    evidence: &'a [Evidence; 2],
) -> impl Iterator<Item = Violation> + 'a {
    let pairs = [(0, 1), (1, 0)];
    pairs.into_iter().filter_map(move |(own, other)| {
        let (report, peer) = (ends.get(own)?, ends.get(other)?);
        let (seen, peer_seen) = (evidence.get(own)?, evidence.get(other)?);
        let refused = |rule, what| Some(Violation { at: report.over_at, end: own, rule, what });
        let listens = !matches!(report.over, Some(ConnectionEnd::Own | ConnectionEnd::GaveUp));
        let gaps = case.ends.get(other).is_some_and(End::sends_without_error_control);
        if listens && report.peer_released && report.received != peer.written && !gaps {
            let what = format!("the end of data came after {} octets of {}", report.received, peer.written);
            return refused("delivery", what);
        }
        if report.received > peer.written {
            return refused("delivery", "more was delivered than written".to_owned());
        }
        // The peer's TCP gave up a call of which its program had not heard, since nothing answered its SYN.
        let given_up = case.transport == Transport::Tcp
            && peer.over == Some(ConnectionEnd::Never)
            && (peer_seen.in_vain >= SYN_REPETITIONS || has_user_timeout(case, other) || sends_cookies(case, other))
            && case.may_lose();
        let reason = match report.over.clone() {
            None => return refused("no end", "the program is not done".to_owned()),
            Some(ConnectionEnd::Closed | ConnectionEnd::Own | ConnectionEnd::Never) => return None,
            Some(ConnectionEnd::GaveUp) => {
                // Only where the peer's reset was lost.
                let quiet = case.transport == Transport::Xtp && xtp::may_wait(case, report);
                return if quiet || has_cut(peer) && case.transport == Transport::Tcp || given_up {
                    None
                } else {
                    refused("no end", format!("it heard nothing more, while the other: {:?}", peer.over))
                };
            }
            Some(ConnectionEnd::Aborted(reason)) => reason,
        };
        let far_calls = matches!(case.ends.get(1).map(|end| end.opening), Some(Opening::Calls { .. }));
        let listens_late = matches!(
            case.ends.get(other).map(|end| end.opening),
            Some(Opening::Listens { after, .. }) if !after.is_zero()
        );
        // The last FIN may be answered by a reset where the peer has gone through TIME-WAIT: nothing is lost then.
        let done = report.peer_released && report.released && peer.received == report.written;
        let enough = if report.opened { REPETITIONS } else { SYN_REPETITIONS };
        let allowed = match reason {
            _ if case.transport == Transport::Xtp => xtp::may_end(case, own, reason.clone(), ends, evidence),
            Reason::Reset => seen.reset_came && (has_cut(peer) || done || given_up),
            Reason::Refused => seen.reset_came && (far_calls || listens_late || has_cut(peer) || given_up),
            // It says that there was no path where somebody has complained of that meanwhile.
            Reason::TimedOut | Reason::Unreachable(_) => {
                (seen.in_vain >= enough || has_user_timeout(case, own)) && (case.may_lose() || has_cut(peer) || done)
            }
            Reason::NoSession => seen.reset_came || seen.reset_sent,
            Reason::User
            | Reason::BadAddress
            | Reason::NoResources
            | Reason::Protocol
            | Reason::Down
            | Reason::Violation(_)
            | Reason::Peer(_) => false,
        };
        if allowed {
            return None;
        }
        let what = format!(
            "ended with \"{reason}\" for no reason of this case; the other end: {:?}, resets sent there: {}",
            peer.over, peer_seen.reset_sent
        );
        refused("ending", what)
    })
}

/// Whether the TCP of an end gives up after a time: its user's, one that the peer has told it of, or that of
/// keep-alive.
fn has_user_timeout(case: &Case, end: usize) -> bool {
    let told = |own: &End| {
        let told = |end: &End| end.tcp.user_timeout_option && end.tcp.user_timeout.is_some();
        own.tcp.user_timeout_option && case.ends.iter().any(told)
    };
    let gives_up = |own: &End| own.tcp.user_timeout.is_some() || own.tcp.keep_alive || told(own);
    case.ends.get(end).is_some_and(gives_up)
}

/// Whether an end keeps nothing of a call until it is answered: where the answer is lost, or late, it knows nothing of
/// it.
fn sends_cookies(case: &Case, end: usize) -> bool {
    case.ends.get(end).is_some_and(End::may_send_cookies)
}

/// Whether this end has ended the connection other than in order, whatever its reason.
fn has_cut(report: &Report) -> bool {
    match report.over {
        Some(ConnectionEnd::Own | ConnectionEnd::Aborted(_)) => true,
        Some(ConnectionEnd::Closed | ConnectionEnd::GaveUp | ConnectionEnd::Never) | None => false,
    }
}
