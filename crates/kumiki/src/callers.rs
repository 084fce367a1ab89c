//! Options about callers, which all programs have that take them from a network.

use core::str::FromStr;

use clap::Args;
use kumiki_live::{Duration, admission};

use crate::commands::Stop;
use crate::live::option;

/// How many callers there may be, and how long they may take.
#[derive(Args, Debug)]
pub(crate) struct Callers {
    /// The most of one host that are known, and of one that are not yet; a /64 of IPv6 is one host. Of a network (/24, /48) twice as many that are not
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    of_one_host: u16,
    /// Callers that are not known yet: from START on PERCENT of a hundred are dropped, rising to all at FULL; first those of the network that has most, and who gets no further
    #[arg(long, value_name = "START:PERCENT:FULL", default_value = "16:30:64", help_heading = "Limits")]
    strangers: Strangers,
    /// Within this time a caller is to be known: its association, or its call, is to stand. As these places fill it is less, down to a sixth
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Limits")]
    begin: String,
}

impl Callers {
    /// With so many that are known.
    pub(crate) fn limits(&self, known: usize) -> Result<admission::Limits, Stop> {
        let Strangers { start, percent, full } = self.strangers;
        Ok(admission::Limits {
            start: start.into(),
            percent,
            full: full.into(),
            going: known.saturating_add(full.into()),
            ..admission::Limits::new(known, self.of_one_host.into(), self.begin()?)
        })
    }

    /// Within which time a caller is to be known.
    pub(crate) fn begin(&self) -> Result<Duration, Stop> {
        option("--begin", &self.begin)
    }
}

/// `START:PERCENT:FULL`, as OpenSSH's `MaxStartups` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Strangers {
    start: u16,
    percent: u8,
    full: u16,
}

impl FromStr for Strangers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let read = (|| {
            let found = Self {
                start: parts.next()?.parse().ok()?,
                percent: parts.next()?.parse().ok()?,
                full: parts.next()?.parse().ok()?,
            };
            let fits = found.start <= found.full && found.full > 0 && found.percent <= 100;
            (fits && parts.next().is_none()).then_some(found)
        })();
        read.ok_or_else(|| {
            "write START:PERCENT:FULL, such as 16:30:64, with START at most FULL and PERCENT at most 100".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_strangers_make_sense_or_are_refused() {
        let read = "10:30:100".parse();
        let (start, percent, full) = (10, 30, 100);
        assert_eq!(read, Ok(Strangers { start, percent, full }));
        for bad in ["", "10", "10:30", "100:30:10", "1:101:2", "0:0:0", "1:2:3:4"] {
            assert!(bad.parse::<Strangers>().is_err(), "{bad}");
        }
    }
}
