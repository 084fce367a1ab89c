//! Proportional rate reduction: how the window shrinks during fast recovery.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9937; by choice RFC 6937 with either of its reduction bounds |
//! | The caller's part | when recovery begins and ends; to send no more than [`Prr::cwnd`] allows |
//! | Left out | recovery without SACK, whose DeliveredData and inflight section 6.2 has as well (section 5: PRR "does not require SACK", and MAY be used with NewReno); the reduction for congestion marks (section 4, its last paragraph: it "can" be done), which is at once |
//!
//! # RFC 9937, clause by clause
//!
//! | section | what it asks for | here |
//! |---|---|---|
//! | 5 | "RECOMMENDED that PRR is implemented together with RACK-TLP" | the default of `modern` |
//! | 6.1 | state is initialized when an episode begins (MUST): prr_delivered, prr_out; RecoverFS = SND.NXT - SND.UNA, less what was SACKed before, with what the ACK that begins it acknowledges and SACKs | `enter_recovery`. What had been SACKed before and is acknowledged by that ACK counts once, as section 6.1's sum has it |
//! | 6.1 | RecoverFS stays as it is; an episode may begin for a retransmission lost in recovery | it stays; none begins: what is lost twice is made good in the same episode |
//! | 6.2 | on each ACK that begins recovery or comes in it, but for the one that ends it | `reduce_in_proportion`, last of what an ACK does; at the end of recovery there is no state any more |
//! | 6.2 | DeliveredData is the change of SND.UNA and the signed change of what is SACKed | `AckOutcome::delivered` |
//! | 6.2 | inflight of RACK-TLP is SND.NXT - SND.UNA, less SACKed, less lost, with what was retransmitted since it was marked lost (MUST); that of RFC 6675 may be pipe | `Scoreboard::pipe`, which is both |
//! | 6.2 | SafeACK: the ACK acknowledges something new and shows no further loss, as one that leads to a rescue retransmission may | what RACK, or with RFC 6675 IsLost, marks on this ACK. The rescue retransmission goes after the ACK and is not foreseen |
//! | 6.2 | the formula; where it gives nothing and nothing was sent yet, one segment | [`Prr::on_ack`] |
//! | 6.3 | prr_out counts all that is sent | [`Prr::on_sent`] |
//! | 6.4 | cwnd = ssthresh at the end | `advance_recovery` |
//! | 6.4 | "RECOMMENDED that implementations use pacing" | where it is configured |

/// How far below ssthresh the flight may be filled up again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    /// PRR-CRB of RFC 6937: by what was delivered.
    Conservative,
    /// PRR-SSRB of RFC 6937: by one segment more for each ACK.
    SlowStart,
    /// RFC 9937: the latter as long as recovery makes progress, else the former.
    Safe,
}

/// An ACK during recovery; all in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// DeliveredData.
    pub(crate) delivered: u64,
    /// What is in the network (RFC 6675's pipe).
    pub(crate) inflight: u64,
    pub(crate) ssthresh: u64,
    pub(crate) smss: u64,
    /// SafeACK.
    pub(crate) safe: bool,
}

/// The variables of one recovery.
#[derive(Clone, Debug)]
pub(crate) struct Prr {
    bound: Bound,
    prr_delivered: u64,
    prr_out: u64,
    recover_fs: u64,
    cwnd: u64,
}

impl Prr {
    /// Recovery begins with `recover_fs` octets (RecoverFS) that the receiver was not known to hold.
    pub(crate) fn new(bound: Bound, recover_fs: u64, inflight: u64) -> Self {
        Self { bound, prr_delivered: 0, prr_out: 0, recover_fs: recover_fs.max(1), cwnd: inflight }
    }

    /// What may be in the network until the next ACK.
    pub(crate) const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(crate) fn on_ack(&mut self, ack: &Delivery) {
        if ack.delivered == 0 && self.bound == Bound::Safe {
            return;
        }
        self.prr_delivered = self.prr_delivered.saturating_add(ack.delivered);
        let sndcnt = if ack.inflight > ack.ssthresh {
            let share = self.prr_delivered.saturating_mul(ack.ssthresh);
            share.div_ceil(self.recover_fs).saturating_sub(self.prr_out)
        } else {
            let banked = self.prr_delivered.saturating_sub(self.prr_out);
            let limit = match self.bound {
                Bound::Conservative => banked,
                Bound::Safe if !ack.safe => banked.max(ack.delivered),
                Bound::Safe | Bound::SlowStart => banked.max(ack.delivered) + ack.smss,
            };
            limit.min(ack.ssthresh - ack.inflight)
        };
        let first = self.prr_out == 0 && sndcnt == 0;
        self.cwnd = ack.inflight + if first { ack.smss } else { sndcnt };
    }

    pub(crate) fn on_sent(&mut self, octets: u32) {
        self.prr_out += u64::from(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one ACK of RFC 6937 section 3.1 led to: the pipe before and after sending, and the segments sent.
    type Column = (u64, u64, u64);

    /// The scenario of that section: 20 segments in flight, ssthresh 10, the first `lost` are lost; two new segments go
    /// by limited transmit, and the third ACK begins recovery. One column for each ACK from there on; what is sent in
    /// recovery is not acknowledged in this round trip.
    fn scenario(bound: Bound, lost: u64) -> Vec<Column> {
        let (acks, flight) = (20 - lost, 22);
        // Delivered before the third.
        let recover_fs = flight - 2;
        let mut prr = Prr::new(bound, recover_fs, 0);
        let mut pipe = flight - 2 - lost;
        let column = |_| {
            pipe -= 1;
            prr.on_ack(&Delivery { delivered: 1, inflight: pipe, ssthresh: 10, smss: 1, safe: false });
            let before = pipe;
            let sent = prr.cwnd() - pipe;
            prr.on_sent(u32::try_from(sent).unwrap());
            pipe += sent;
            (before, pipe, sent)
        };
        (3..=acks).map(column).collect()
    }

    #[test]
    fn one_loss_is_the_table_of_rfc_6937() {
        for bound in [Bound::Conservative, Bound::SlowStart, Bound::Safe] {
            let columns = scenario(bound, 1);
            // One retransmission, then every other ACK lets a segment go.
            let sent: Vec<u64> = columns.iter().map(|column| column.2).collect();
            assert_eq!(sent[..14], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
            // The row "pipe" from the fifth ACK on, which counts what the ACK sends.
            let pipe: Vec<u64> = columns[2..].iter().map(|column| column.1).collect();
            let printed = [18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 10];
            assert_eq!(pipe, printed, "{bound:?}");
        }
    }

    #[test]
    fn fifteen_losses_are_the_tables_of_rfc_6937() {
        // The rows "pipe" and "sent" of the last three ACKs.
        let rows = |bound| {
            let columns = scenario(bound, 15);
            columns.iter().map(|column| (column.0, column.2)).collect::<Vec<_>>()
        };
        assert_eq!(rows(Bound::Conservative), [(4, 1), (4, 1), (4, 1)]);
        assert_eq!(rows(Bound::SlowStart), [(4, 2), (5, 2), (6, 2)]);
        assert_eq!(rows(Bound::Safe), [(4, 1), (4, 1), (4, 1)], "no progress");
    }

    /// The rows "cwnd" and "inflight" of RFC 9937 section 8 from ACK 3, which begins recovery, to ACK 18. At ACK 19 the
    /// first figure has a segment go with inflight at ssthresh already, for which the formula of section 6.2 has
    /// MIN(ssthresh - inflight, SndCnt) = 0: the formula holds here.
    #[test]
    fn the_figures_of_rfc_9937() {
        let rows = |lost| {
            let columns = scenario(Bound::Safe, lost);
            columns.iter().map(|&(inflight, _, sent)| (inflight + sent, inflight)).unzip::<_, _, Vec<_>, Vec<_>>()
        };
        let (cwnd, inflight) = rows(1);
        assert_eq!(cwnd[..16], [19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11]);
        assert_eq!(inflight[..16], [18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11]);
        assert_eq!((cwnd[16], inflight[16]), (10, 10));
        let (cwnd, inflight) = rows(15);
        assert_eq!((cwnd, inflight), (vec![5, 5, 5], vec![4, 4, 4]));
    }

    #[test]
    fn an_acknowledgment_that_makes_progress_allows_slow_start() {
        let mut prr = Prr::new(Bound::Safe, 20_000, 4000);
        let ack = Delivery { delivered: 2000, inflight: 3000, ssthresh: 10_000, smss: 1000, safe: true };
        prr.on_ack(&ack);
        assert_eq!(prr.cwnd(), 6000);
        prr.on_ack(&Delivery { inflight: 9500, ..ack });
        assert_eq!(prr.cwnd(), 10_000, "not above ssthresh");
    }

    #[test]
    fn the_first_segment_always_goes() {
        let mut prr = Prr::new(Bound::Safe, 20_000, 20_000);
        prr.on_ack(&Delivery { delivered: 1, inflight: 10_000, ssthresh: 10_000, smss: 1000, safe: false });
        assert_eq!(prr.cwnd(), 11_000);
    }
}
