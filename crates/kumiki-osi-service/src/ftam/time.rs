//! Dates of files: GeneralizedTime (X.680 section 46, "generalized time"), as written and as understood.
//!
//! **A deviation**: ISODE writes years from 2000 on as `0100` and up, counted from 1900. So a year of 100 to 999 is
//! taken as one that many after 1900: no filestore has kept files since the tenth century.

use core::fmt;

use thiserror::Error;

/// The most characters of a [`GeneralizedTime`] that are looked at. With nanoseconds and a zone it has 29.
pub const MOST: usize = 40;

/// A date and time as the peer wrote it. That it can be understood is not known before [`moment`](Self::moment).
///
/// A directory with one bad date in it is still to be read, and what one side wrote is to be given back as it was.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GeneralizedTime(String);

impl GeneralizedTime {
    /// As written. Octets beyond ASCII become `?`, as there are none in any date.
    #[must_use]
    pub fn written(octets: &[u8]) -> Self {
        let ascii = |octet: &u8| {
            if octet.is_ascii() { char::from(*octet) } else { '?' }
        };
        Self(octets.iter().map(ascii).collect())
    }

    /// The characters on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it says.
    ///
    /// # Errors
    /// [`BadTime`] where it is no generalized time, or no day of the calendar.
    pub fn moment(&self) -> Result<CalendarTime, BadTime> {
        CalendarTime::parse(&self.0)
    }
}

impl From<CalendarTime> for GeneralizedTime {
    fn from(moment: CalendarTime) -> Self {
        let CalendarTime { year, month, day, hour, minute, second, nanosecond, zone } = moment;
        let mut text = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}");
        if nanosecond > 0 {
            let digits = format!("{nanosecond:09}");
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
        match zone {
            Zone::Local => {}
            Zone::Offset(0) => text.push('Z'),
            Zone::Offset(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                text.push_str(&format!("{sign}{:02}{:02}", minutes / 60, minutes % 60));
            }
        }
        Self(text)
    }
}

/// As [`CalendarTime`] shows it, or as it is where it cannot be understood.
impl fmt::Display for GeneralizedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.moment() {
            Ok(moment) => moment.fmt(f),
            Err(_) => write!(f, "\"{}\"", self.0.escape_default()),
        }
    }
}

/// Which clock a time is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Zone {
    /// That of whoever wrote it, wherever that is.
    Local,
    /// This many minutes ahead of UTC.
    Offset(i16),
}

/// A date and time, understood.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CalendarTime {
    /// Year, 0 to 9999.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 60: a leap second has number 60.
    pub second: u8,
    /// Nanoseconds after the second, below 1,000,000,000.
    pub nanosecond: u32,
    /// Which clock.
    pub zone: Zone,
}

/// Why a text is no date and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BadTime {
    /// Not the form `YYYYMMDDHH[MM[SS]][.fraction][Z|+HHMM|-HHMM]`.
    #[error("a date is written YYYYMMDDHHMMSS, with a fraction, and Z or +HHMM or -HHMM, or neither, behind it")]
    Form,
    /// No such day or time of day.
    #[error("no such day in the calendar, or time of day")]
    Calendar,
}

impl CalendarTime {
    /// Reads `YYYYMMDDHH[MM[SS]]`, a fraction of the last of these behind `.` or `,`, and `Z`, `+HH[MM]`, `-HH[MM]` or
    /// nothing.
    ///
    /// # Errors
    /// [`BadTime`] says whether the form or the calendar is against it.
    pub fn parse(text: &str) -> Result<Self, BadTime> {
        if text.len() > MOST || !text.is_ascii() {
            return Err(BadTime::Form);
        }
        let (digits, rest) = split_digits(text);
        let (date, time) = digits.split_at_checked(8).ok_or(BadTime::Form)?;
        let (year, month_day) = date.split_at_checked(4).ok_or(BadTime::Form)?;
        let year: u16 = year.parse().map_err(|_| BadTime::Form)?;
        let [month, day] = pairs(month_day)?;
        let (unit, [hour, minute, second]) = match time.len() {
            2 => {
                let [hour] = pairs(time)?;
                (3600, [hour, 0, 0])
            }
            4 => {
                let [hour, minute] = pairs(time)?;
                (60, [hour, minute, 0])
            }
            6 => (1, pairs(time)?),
            _ => return Err(BadTime::Form),
        };
        let (fraction, rest) = match rest.strip_prefix(['.', ',']) {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let zone = Zone::parse(rest)?;
        let mut moment = Self {
            // ISODE's years, see the head of this file.
            year: if (100..1000).contains(&year) { year + 1900 } else { year },
            month,
            day,
            hour,
            minute,
            second,
            nanosecond: 0,
            zone,
        };
        moment.add_fraction(fraction, unit);
        let valid = (1..=12).contains(&month)
            && (1..=moment.days_of_month()).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if valid { Ok(moment) } else { Err(BadTime::Calendar) }
    }

    /// Adds the decimal `digits` of a unit of so many seconds. What is below a nanosecond is dropped.
    fn add_fraction(&mut self, digits: &str, unit: u64) {
        let mut share = unit.saturating_mul(1_000_000_000);
        let mut nanoseconds = 0_u64;
        for digit in digits.bytes() {
            share /= 10;
            nanoseconds = nanoseconds.saturating_add(share * u64::from(digit - b'0'));
        }
        let below = |most: u64, value: u64| u8::try_from(value % most).unwrap_or(0);
        self.nanosecond = u32::try_from(nanoseconds % 1_000_000_000).unwrap_or(0);
        let seconds = nanoseconds / 1_000_000_000;
        if unit > 1 {
            self.second = below(60, seconds);
        }
        if unit > 60 {
            self.minute = below(60, seconds / 60);
        }
    }

    fn days_of_month(&self) -> u8 {
        match self.month {
            4 | 6 | 9 | 11 => 30,
            2 if self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400)) => 29,
            2 => 28,
            _ => 31,
        }
    }

    /// Seconds since 1970-01-01T00:00Z, without leap seconds. A local time is taken as one of UTC.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        // Years from March on, so that the day of a leap year is the last one.
        let (year, month) = match self.month {
            1 | 2 => (i64::from(self.year) - 1, i64::from(self.month) + 9),
            _ => (i64::from(self.year), i64::from(self.month) - 3),
        };
        let days = 365 * year + year.div_euclid(4) - year.div_euclid(100)
            + year.div_euclid(400)
            + (153 * month + 2) / 5
            + i64::from(self.day)
            - 1
            - 719_468;
        let offset = match self.zone {
            Zone::Local => 0,
            Zone::Offset(minutes) => i64::from(minutes) * 60,
        };
        days * 86_400 + i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second) - offset
    }

    /// The moment this many seconds after 1970-01-01T00:00Z, in UTC. Nothing before the year 0 or after 9999.
    #[must_use]
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        let days = seconds.div_euclid(86_400).checked_add(719_468)?;
        let second = seconds.rem_euclid(86_400);
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let (month, later) = if from_march < 10 { (from_march + 3, 0) } else { (from_march - 9, 1) };
        let year = u16::try_from(year_of_era + era * 400 + later).ok()?;
        let small = |value: i64| u8::try_from(value).ok();
        (year <= 9999).then_some(Self {
            year,
            month: small(month)?,
            day: small(day)?,
            hour: small(second / 3600)?,
            minute: small(second / 60 % 60)?,
            second: small(second % 60)?,
            nanosecond: 0,
            zone: Zone::Offset(0),
        })
    }
}

impl Zone {
    fn parse(text: &str) -> Result<Self, BadTime> {
        let (sign, digits) = match text.split_at_checked(1) {
            None => return Ok(Self::Local),
            Some(("Z", "")) => return Ok(Self::Offset(0)),
            Some(("+", digits)) => (1, digits),
            Some(("-", digits)) => (-1, digits),
            Some(_) => return Err(BadTime::Form),
        };
        let [hours, minutes] = match digits.len() {
            2 => {
                let [hours] = pairs(digits)?;
                [hours, 0]
            }
            _ => pairs(digits)?,
        };
        if hours < 24 && minutes < 60 {
            Ok(Self::Offset(sign * (i16::from(hours) * 60 + i16::from(minutes))))
        } else {
            Err(BadTime::Calendar)
        }
    }
}

/// The digits at the beginning, and what is behind them.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Numbers of two digits each, and nothing else.
fn pairs<const N: usize>(text: &str) -> Result<[u8; N], BadTime> {
    let mut numbers = [0; N];
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !odd.is_empty() {
        return Err(BadTime::Form);
    }
    for (number, [tens, ones]) in numbers.iter_mut().zip(pairs) {
        if !tens.is_ascii_digit() || !ones.is_ascii_digit() {
            return Err(BadTime::Form);
        }
        *number = (tens - b'0') * 10 + (ones - b'0');
    }
    Ok(numbers)
}

/// As ISO 8601 has it: `2026-12-15T20:15:23Z`.
impl fmt::Display for CalendarTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, nanosecond, zone } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if *nanosecond > 0 {
            let digits = format!("{nanosecond:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        match zone {
            Zone::Local => Ok(()),
            Zone::Offset(0) => f.write_str("Z"),
            Zone::Offset(minutes) => {
                let sign = if *minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        GeneralizedTime::written(text.as_bytes()).to_string()
    }

    #[test]
    fn the_forms_of_x680_are_read() {
        // X.680 has these three as its examples.
        assert_eq!(read("19851106210627.3"), "1985-11-06T21:06:27.3");
        assert_eq!(read("19851106210627.3Z"), "1985-11-06T21:06:27.3Z");
        assert_eq!(read("19851106210627.3-0500"), "1985-11-06T21:06:27.3-05:00");
        assert_eq!(read("1985110621,5"), "1985-11-06T21:30:00");
        assert_eq!(read("198511062106.25Z"), "1985-11-06T21:06:15Z");
    }

    #[test]
    fn a_year_as_isode_writes_it_is_one_after_1900() {
        assert_eq!(read("01261215201523Z"), "2026-12-15T20:15:23Z");
        assert_eq!(read("19991231235960Z"), "1999-12-31T23:59:60Z");
    }

    #[test]
    fn what_is_no_date_is_kept_as_it_is() {
        for text in ["", "yesterday", "20260230000000Z", "2026", "20260101000000+9"] {
            assert!(CalendarTime::parse(text).is_err(), "{text}");
            assert_eq!(read(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn seconds_since_1970_are_those_of_date() {
        // By `date -u +%s -d ...`.
        for (text, seconds) in [
            ("19700101000000Z", 0),
            ("20000229120000Z", 951_825_600),
            ("20261215201523Z", 1_797_365_723),
            ("20261215201523+0100", 1_797_362_123),
            ("19000301000000Z", -2_203_891_200),
        ] {
            assert_eq!(CalendarTime::parse(text).unwrap().unix_seconds(), seconds, "{text}");
        }
    }

    proptest! {
        #[test]
        fn seconds_and_moments_say_the_same(seconds in -62_135_596_800_i64 + 31_536_000_000..253_402_300_800) {
            let moment = CalendarTime::from_unix_seconds(seconds).unwrap();
            prop_assert_eq!(moment.unix_seconds(), seconds);
            prop_assert_eq!(GeneralizedTime::from(moment).moment(), Ok(moment));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9]{8,14}[.,]?[0-9]{0,30}[Z+-]?[0-9]{0,4}|.*") {
            if let Ok(moment) = CalendarTime::parse(&text) {
                prop_assert_eq!(GeneralizedTime::from(moment).moment(), Ok(moment));
            }
        }
    }
}
