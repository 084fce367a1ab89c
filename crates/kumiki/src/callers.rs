//! Options about callers, which all programs have that take them from a network.

use core::str::FromStr;

use clap::Args;
use kumiki_config::quantity::Octets;
use kumiki_lab::scenario::ConfigError;
use kumiki_live::memory::LEAST;
use kumiki_live::private::SHORTEST;
use kumiki_live::{Duration, admission};

use crate::commands::Stop;
use crate::live::{option, some_time};

/// How many callers there may be, and how long they may take.
#[derive(Args, Debug)]
pub(crate) struct Callers {
    /// The most of one host that are known, and of one that are not yet, 8 unless given; a /64 of IPv6 is one host. Of
    /// a network (/24, /48) twice as many that are not
    #[arg(long = "max-per-host", value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    of_one_host: Option<u16>,
    /// Callers that are not known yet: from START on PERCENT of a hundred are dropped, rising to all at FULL, 16:30:64
    /// unless given; first those of the network that has most, and who gets no further
    #[arg(long = "max-startups", value_name = "START:PERCENT:FULL", help_heading = "Limits")]
    strangers: Option<MaxStartups>,
    /// Within this time a caller is to be known: its association, or its call, is to stand; 30s unless given. As these
    /// places fill it is less, down to a sixth
    #[arg(long = "setup-timeout", value_name = "TIME", help_heading = "Limits")]
    begin: Option<String>,
}

/// Callers that are not known yet where nobody says otherwise.
const STRANGERS: MaxStartups = MaxStartups { start: 16, percent: 30, full: 64 };
/// So many are known of one host then.
const OF_ONE_HOST: u16 = 8;

impl Callers {
    /// Each option, and whether it was given.
    pub(crate) const fn given(&self) -> [(&'static str, bool); 3] {
        [
            ("--max-per-host", self.of_one_host.is_some()),
            ("--max-startups", self.strangers.is_some()),
            ("--setup-timeout", self.begin.is_some()),
        ]
    }

    /// With so many that are known.
    pub(crate) fn limits(&self, known: usize) -> Result<admission::Limits, Stop> {
        let MaxStartups { start, percent, full } = self.strangers.unwrap_or(STRANGERS);
        let of_one_host = self.of_one_host.unwrap_or(OF_ONE_HOST);
        Ok(admission::Limits {
            start: start.into(),
            percent,
            full: full.into(),
            going: known.saturating_add(full.into()),
            ..admission::Limits::new(known, of_one_host.into(), self.begin()?)
        })
    }

    /// Within which time a caller is to be known.
    pub(crate) fn begin(&self) -> Result<Duration, Stop> {
        some_time("--setup-timeout", self.begin.as_deref().unwrap_or("30s"))
    }
}

/// After how long a silent caller goes; none: never.
pub(crate) fn idle(text: &str) -> Result<Option<Duration>, Stop> {
    if text == "forever" { Ok(None) } else { some_time("--idle", text).map(Some) }
}

/// How much memory callers may take together.
pub(crate) fn memory(text: &str) -> Result<u64, Stop> {
    let octets = option::<Octets>("--memory", text)?.count();
    if octets < LEAST {
        let why = format!("{text:?} is not enough for anybody to be served");
        return Err(ConfigError::at(["--memory"], why).expected(format!("{} or more", Octets::new(LEAST))).into());
    }
    Ok(octets)
}

/// How long captures may become together.
pub(crate) fn pcap_most(text: &str) -> Result<u64, Stop> {
    let octets = option::<Octets>("--max-pcap", text)?.count();
    if octets < SHORTEST {
        let why = format!("{text:?} is not enough for a capture to begin");
        return Err(ConfigError::at(["--max-pcap"], why).expected(format!("{} or more", Octets::new(SHORTEST))).into());
    }
    Ok(octets)
}

/// `START:PERCENT:FULL`, as OpenSSH's `MaxStartups` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MaxStartups {
    start: u16,
    percent: u8,
    full: u16,
}

impl FromStr for MaxStartups {
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
        assert_eq!(read, Ok(MaxStartups { start, percent, full }));
        for bad in ["", "10", "10:30", "100:30:10", "1:101:2", "0:0:0", "1:2:3:4"] {
            assert!(bad.parse::<MaxStartups>().is_err(), "{bad}");
        }
    }
}
