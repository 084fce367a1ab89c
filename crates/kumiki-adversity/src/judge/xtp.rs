//! For which reasons a transfer of XTP may end other than in order.

use kumiki_graph::{FlowControl, Reason};

use super::{Evidence, has_cut};
use crate::case::{Case, End, Opening, Reading, Stack, Version};
use crate::user::{ConnectionEnd, Report};

/// Whether end `own` may have been ended for `reason`.
pub(super) fn may_end(case: &Case, own: usize, reason: Reason, ends: &[Report; 2], evidence: &[Evidence; 2]) -> bool {
    let other = 1 - own;
    let (Some(report), Some(peer), Some(seen)) = (ends.get(own), ends.get(other), evidence.get(own)) else {
        return false;
    };
    // All that was written both ways has come, or will not be retransmitted: nothing is lost by how it ends.
    let gaps = case.ends.get(own).is_some_and(End::sends_without_error_control);
    let came = peer.received == report.written || gaps;
    let done = report.peer_released && report.released && came;
    let gone = has_cut(peer) || matches!(peer.over, Some(ConnectionEnd::Never));
    let listens_late = matches!(
        case.ends.get(other).map(|end| end.opening),
        Some(Opening::Listens { after, .. }) if !after.is_zero()
    );
    match reason {
        // Who is believed can end it, and who is not makes this end tell the other that it lies.
        Reason::Reset | Reason::Protocol | Reason::TimedOut if case.has_lies() => true,
        Reason::Reset => seen.reset_came && (gone || done),
        Reason::Refused => seen.reset_came && (listens_late || gone),
        Reason::TimedOut => case.may_lose() || gone || done || may_stall(case, own),
        Reason::NoSession => seen.reset_came || seen.reset_sent,
        // Nothing protects the header of IPv6, and who complains of a wrong bit in it is believed as long as nobody has
        // answered. And ARP gives up.
        Reason::Unreachable(_) if !case.stack.has_ip() => case.may_lose(),
        Reason::Unreachable(_) => {
            let weather = case.line.weather.iter();
            let bits = weather.map(|it| it.corrupt).sum::<f64>() > 0.0;
            case.version == Version::Six && case.stack == Stack::Ip && bits
        }
        Reason::User
        | Reason::BadAddress
        | Reason::NoResources
        | Reason::Protocol
        | Reason::Down
        | Reason::Violation(_)
        | Reason::Peer(_) => false,
    }
}

/// Whether end `own` gives up a peer that answers and allows nothing for a time.
fn may_stall(case: &Case, own: usize) -> bool {
    let end = case.ends.get(own);
    // Without flow control all is sent that finds no room, and none of it ever comes.
    let stalls = end
        .and_then(|it| it.xtp.as_ref())
        .is_some_and(|it| !it.stall.is_zero() || it.flow_control == FlowControl::None);
    let slow = case.ends.get(1 - own).is_some_and(|it| it.reading != Reading::AtOnce);
    stalls && slow
}

/// Whether end `own` may wait for ever: it has said that it listens, or has switched off what finds that the peer is
/// gone, or hears of a peer that has done so and asks as long as all answers to it are lost.
pub(super) fn may_wait(case: &Case, report: &Report) -> bool {
    let never_gives_up = |end: &End| {
        end.xtp.as_ref().is_some_and(|xtp| {
            let timeout = end.quality.user_timeout.unwrap_or(xtp.ctimeout);
            timeout.is_zero() || xtp.ctimer.is_zero()
        })
    };
    !report.opened || case.ends.iter().any(never_gives_up)
}
