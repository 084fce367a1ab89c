//! `ftam://[USER@]HOST[:PORT]/FILE[?NAME=VALUE&...]`, `mms://HOST[:PORT]/FILE[?NAME=VALUE&...]`: where a file is, and
//! how its responder is reached.
//!
//! | parameter | says |
//! |---|---|
//! | `tsel`, `ssel`, `psel` | the selectors called: `0x0103`, `#259`, `"FTAM"` or `FTAM` |
//! | `from-tsel`, `from-ssel`, `from-psel` | our own |
//! | `title`, `qualifier` | the application title called, `1.17.4.0.16`, and the entity's number |
//! | `context` | the application context, where it is not the protocol's |
//! | `tpdu` | the TPDU size that is proposed: 128 to 8192 |
//! | `account` | who pays (FTAM) |
//! | `carrier`, `x121`, `from-x121` | `rfc1006` or `xot`; the X.121 addresses called and ours |
//! | `packet`, `window` | of XOT: octets of a packet, 16 to 4096, and packets of a window, 1 to 7, that are asked for |
//! | `cud` | of XOT: the user data of the call, up to 16 octets in hexadecimal; 03010100 unless given |
//! | `cug`, `reverse`, `nui` | of XOT: the closed user group, two digits; `yes` for reverse charging; the network user identification, which other users of this machine can see here |
//!
//! Any octet can be written as `%` and two hexadecimal digits; a `#` in a selector must be, `%23`, only where a shell
//! or a program in between takes it away. The `/` behind the host is not part of the name: `ftam://host//FILE` is the
//! name `/FILE`.
//!
//! **Left out**: names that are no UTF-8; lists of parameters (a name given twice is an error).

use core::str::FromStr;

use crate::osi::{
    CallUserData, Carrier, Charging, Circuit, Facility, Host, Names, Nui, Oid, Selector, Sels, Title, X121,
};

/// A URL in its parts.
#[derive(Clone, PartialEq, Debug)]
pub struct Url {
    /// `ftam` or `mms`.
    pub scheme: &'static str,
    /// As whom.
    pub user: Option<String>,
    /// Where.
    pub host: Host,
    /// The name of the file; may be empty.
    pub name: String,
    /// The selectors called.
    pub called: Sels,
    /// Our own.
    pub calling: Sels,
    /// The titles called.
    pub names: Names,
    /// The application context.
    pub context: Option<Oid>,
    /// The TPDU size.
    pub tpdu: Option<u16>,
    /// Who pays.
    pub account: Option<String>,
    /// What carries transport.
    pub carrier: Carrier,
    /// The X.121 address called, and ours.
    pub x121: [X121; 2],
    /// How the call of X.25 is made.
    pub circuit: Circuit,
}

/// A kind of URL.
#[derive(Clone, Copy, Debug)]
struct Scheme {
    name: &'static str,
    /// What a URL looks like, for whoever wrote something else.
    looks: &'static str,
    /// All parameters.
    parameters: &'static str,
}

const FTAM: Scheme = Scheme {
    name: "ftam",
    looks: "such as ftam://user@host/FILE?tsel=0x0103",
    parameters: "tsel, ssel, psel, from-tsel, from-ssel, from-psel, title, qualifier, context, tpdu, account, carrier, x121, from-x121, packet, window, cud, cug, reverse and nui",
};

const MMS: Scheme = Scheme {
    name: "mms",
    looks: "such as mms://host/FILE?tsel=0x0001",
    parameters: "tsel, ssel, psel, from-tsel, from-ssel, from-psel, title, qualifier, context, tpdu, carrier, x121, from-x121, packet, window, cud, cug, reverse and nui",
};

impl Url {
    /// Whether it looks like one: then it is no file of this machine.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.contains("://")
    }

    /// As the log of a collection has it: the responder, without user and parameters.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}://{}/{}", self.scheme, self.host, self.name)
    }
}

impl FromStr for Url {
    type Err = String;

    /// One of FTAM.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, &FTAM)
    }
}

impl Url {
    /// One of MMS.
    ///
    /// # Errors
    /// What is wrong in it, and what would be right.
    pub fn of_mms(text: &str) -> Result<Self, String> {
        let url = Self::parse(text, &MMS)?;
        if url.user.is_some() {
            return Err(
                "MMS knows no users, and association control has only a password: write the host alone".to_owned()
            );
        }
        Ok(url)
    }

    fn parse(text: &str, scheme: &Scheme) -> Result<Self, String> {
        let looks = scheme.looks;
        let rest = match text.split_once("://") {
            Some((name, rest)) if name == scheme.name => rest,
            Some((other, _)) => {
                return Err(format!("{other:?} is no scheme of files here; {looks}"));
            }
            None => return Err(format!("this is no URL; {looks}")),
        };
        let (before, query) = match rest.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = before.split_once('/').unwrap_or((before, ""));
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(format!(
                "a URL has no password: other users of this machine can see it, and so can your shell's history; use \
                     --password-file, KUMIKI_{}_PASSWORD or the prompt",
                scheme.name.to_uppercase()
            ));
        }
        let (host, port) = host_and_port(place, looks)?;
        let mut url = Self {
            scheme: scheme.name,
            user: user.map(|user| decoded("the user", user)).transpose()?,
            host: Host { name: host, port: 0 },
            name: decoded("the name", path)?,
            called: Sels::default(),
            calling: Sels::default(),
            names: Names::default(),
            context: None,
            tpdu: None,
            account: None,
            carrier: Carrier::Rfc1006,
            x121: [X121::NONE; 2],
            circuit: Circuit::default(),
        };
        url.parameters(query.unwrap_or_default(), scheme.parameters)?;
        if url.carrier != Carrier::Xot && url.x121.iter().any(|it| !it.is_empty()) {
            return Err("x121 and from-x121 are addresses of X.25: write carrier=xot beside them".to_owned());
        }
        if url.carrier != Carrier::Xot && url.circuit != Circuit::default() {
            return Err(
                "packet, window, cud, cug, reverse and nui are of calls of X.25: write carrier=xot beside them"
                    .to_owned(),
            );
        }
        url.host.port = port.unwrap_or_else(|| url.carrier.port());
        Ok(url)
    }
}

impl Url {
    fn parameters(&mut self, query: &str, all: &str) -> Result<(), String> {
        let mut seen: Vec<&str> = Vec::new();
        for parameter in query.split('&').filter(|it| !it.is_empty()) {
            let Some((name, value)) = parameter.split_once('=') else {
                return Err(format!("{parameter:?} has no value; write NAME=VALUE"));
            };
            if seen.contains(&name) {
                return Err(format!("{name} is given twice"));
            }
            seen.push(name);
            if !all.split([',', ' ']).any(|it| it == name) || name == "and" {
                return Err(format!("{name}: there is no such parameter; there are {all}"));
            }
            let value = decoded(name, value)?;
            self.parameter(name, value).map_err(|why| format!("{name}: {why}"))?;
        }
        Ok(())
    }

    fn parameter(&mut self, name: &str, value: String) -> Result<(), String> {
        let selector = |most: usize| -> Result<Option<Selector>, String> {
            let selector: Selector = value.parse().map_err(said)?;
            if selector.octets().len() > most {
                return Err(format!("more than {most} octets"));
            }
            Ok(Some(selector))
        };
        let title = || -> Result<Oid, String> { value.parse().map_err(said) };
        match name {
            "tsel" => self.called.transport = selector(32)?,
            "ssel" => self.called.session = selector(16)?,
            "psel" => self.called.presentation = selector(32)?,
            "from-tsel" => self.calling.transport = selector(32)?,
            "from-ssel" => self.calling.session = selector(16)?,
            "from-psel" => self.calling.presentation = selector(32)?,
            "title" => self.names.ap_title = Some(Title::Oid(title()?)),
            "qualifier" => {
                let number = value.parse().map_err(|_| "a number is expected")?;
                self.names.ae_qualifier = Some(Title::Number(number));
            }
            "context" => self.context = Some(title()?),
            "tpdu" => self.tpdu = Some(tpdu_size(&value)?),
            "account" => self.account = Some(value),
            "carrier" => self.carrier = carrier(&value)?,
            "x121" | "from-x121" => {
                let number = value.parse::<X121>().map_err(|why| why.to_string())?;
                let [called, ours] = &mut self.x121;
                *(if name == "x121" { called } else { ours }) = number;
            }
            "packet" => self.circuit.packet = packet(&value)?,
            "window" => self.circuit.window = window(&value)?,
            "cud" => self.circuit.user_data = call_user_data(&value)?,
            "cug" => self.circuit.facilities.set(Facility::ClosedGroup(closed_group(&value)?)),
            "reverse" => {
                if is_reverse(&value)? {
                    self.circuit.facilities.set(Facility::Charging(Charging { reverse: true, ..Charging::default() }));
                }
            }
            "nui" => self.circuit.facilities.set(Facility::User(user_identification(&value)?)),
            _ => return Err("there is no such parameter".to_owned()),
        }
        Ok(())
    }
}

fn carrier(text: &str) -> Result<Carrier, String> {
    match text {
        "rfc1006" => Ok(Carrier::Rfc1006),
        "xot" => Ok(Carrier::Xot),
        _ => Err("rfc1006 or xot is expected".to_owned()),
    }
}

fn tpdu_size(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|size| is_tpdu_size(*size)).ok_or_else(|| TPDU_SIZES.to_owned())
}

/// What a TPDU size that is none is answered with.
pub const TPDU_SIZES: &str = "128, 256, 512, 1024, 2048, 4096 or 8192 is expected";

/// Whether TPDUs of so many octets can be proposed.
#[must_use]
pub const fn is_tpdu_size(octets: u16) -> bool {
    octets.is_power_of_two() && octets >= 128 && octets <= 8192
}

/// The number of a closed user group, as X.25 writes it: a digit in each half of the octet.
fn closed_group(text: &str) -> Result<u8, String> {
    match *text.as_bytes() {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Ok((a - b'0') << 4 | (b - b'0')),
        _ => Err("two digits are expected".to_owned()),
    }
}

fn is_reverse(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no is expected".to_owned()),
    }
}

fn user_identification(text: &str) -> Result<Nui, String> {
    let nui = text.as_bytes();
    if nui.is_empty() || nui.len() > 64 {
        return Err("1 to 64 octets are expected".to_owned());
    }
    Ok(Nui::new(nui))
}

/// Octets of a packet.
///
/// # Errors
/// What would be right.
pub fn packet(text: &str) -> Result<u16, String> {
    let octets = text.parse().ok();
    let octets = octets.filter(|it: &u16| it.is_power_of_two() && (16..=4096).contains(it));
    octets.ok_or_else(|| "a power of two from 16 to 4096 is expected".to_owned())
}

/// Packets of a window, which are numbered modulo 8.
///
/// # Errors
/// What would be right.
pub fn window(text: &str) -> Result<u8, String> {
    let packets = text.parse().ok().filter(|it| (1..=7).contains(it));
    packets.ok_or_else(|| "1 to 7 is expected".to_owned())
}

/// The user data of a call, without fast select.
///
/// # Errors
/// What would be right.
pub fn call_user_data(text: &str) -> Result<CallUserData, String> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
    let (pairs, left) = digits.as_deref().unwrap_or(&[0]).as_chunks::<2>();
    let octets: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    CallUserData::new(&octets)
        .filter(|_| left.is_empty())
        .ok_or_else(|| "up to 16 octets in hexadecimal are expected, such as 03010100".to_owned())
}

fn said(why: impl core::fmt::Display) -> String {
    why.to_string()
}

/// `host`, `host:port`, `[address]` or `[address]:port`.
fn host_and_port(place: &str, looks: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = if let Some(inner) = place.strip_prefix('[') {
        let Some((address, behind)) = inner.split_once(']') else {
            return Err("an IPv6 address ends with a bracket, as in [fd00::1]:102".to_owned());
        };
        if address.parse::<core::net::Ipv6Addr>().is_err() {
            return Err(format!("{address:?} is no IPv6 address"));
        }
        match behind.strip_prefix(':') {
            Some(port) => (address, Some(port)),
            None if behind.is_empty() => (address, None),
            None => return Err(format!("{behind:?} behind the bracket is no port")),
        }
    } else {
        match place.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address needs brackets, as in [fd00::1]:102".to_owned());
            }
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        }
    };
    if host.is_empty() {
        return Err(format!("there is no host; {looks}"));
    }
    let port = port.map(|port| {
        let number = port.parse::<u16>().ok().filter(|port| *port > 0);
        number.ok_or_else(|| format!("{port:?} is no port; 1 to 65535 is expected"))
    });
    Ok((decoded("the host", host)?, port.transpose()?))
}

/// What percent escapes stand for.
fn decoded(what: &str, text: &str) -> Result<String, String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            octets.push(*first);
            continue;
        }
        let digit = |octet: &u8| char::from(*octet).to_digit(16);
        let octet = behind.split_first_chunk::<2>().and_then(|([high, low], behind)| {
            let octet = u8::try_from(digit(high)? << 4 | digit(low)?).ok()?;
            Some((octet, behind))
        });
        let Some((octet, behind)) = octet else {
            return Err(format!("{what}: % stands before two hexadecimal digits; a % itself is %25"));
        };
        octets.push(octet);
        rest = behind;
    }
    String::from_utf8(octets).map_err(|_| format!("{what}: {text:?} is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::{collection, sample};

    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn why(text: &str) -> String {
        text.parse::<Url>().unwrap_err()
    }

    #[test]
    fn a_url_has_user_host_port_name_and_selectors() {
        let it = url("ftam://ada@host:10102/a/b?tsel=0x0103&ssel=%23259&psel=\"FTAM\"&tpdu=2048");
        assert_eq!(it.user.as_deref(), Some("ada"));
        assert_eq!(it.host.to_string(), "host:10102");
        assert_eq!(it.name, "a/b");
        let octets = |it: Option<Selector>| it.map(|it| it.octets().to_vec());
        assert_eq!(octets(it.called.transport), Some(vec![1, 3]));
        assert_eq!(octets(it.called.session), Some(vec![1, 3]));
        assert_eq!(octets(it.called.presentation), Some(b"FTAM".to_vec()));
        assert_eq!(it.tpdu, Some(2048));
        assert_eq!(url("ftam://host/x?tsel=#1").called.transport.unwrap().octets(), [0, 1]);
    }

    #[test]
    fn ports_are_those_of_the_carrier_and_addresses_may_have_brackets() {
        assert_eq!(url("ftam://host/x").host.port, 102);
        assert_eq!(url("ftam://host/x?carrier=xot&x121=12345").host.port, 1998);
        assert_eq!(url("ftam://[::1]:9/x").host.to_string(), "[::1]:9");
        assert_eq!(url("ftam://[::1]").name, "");
    }

    #[test]
    fn mms_has_no_users_and_no_accounts() {
        let it = Url::of_mms("mms://ied/COMTRADE/a.cfg?tsel=0x0001").unwrap();
        assert_eq!((it.host.port, &*it.name), (102, "COMTRADE/a.cfg"));
        assert_eq!(it.place(), "mms://ied:102/COMTRADE/a.cfg");
        for (text, part) in [
            ("ftam://ied/x", "such as mms://"),
            ("mms://ada@ied/x", "knows no users"),
            ("mms://ied/x?account=1", "there are tsel"),
        ] {
            let said = Url::of_mms(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }

    #[test]
    fn escapes_stand_for_octets_and_the_first_slash_is_none_of_the_name() {
        assert_eq!(url("ftam://h/a%20b%3f").name, "a b?");
        assert_eq!(url("ftam://h//etc/x").name, "/etc/x");
        assert_eq!(url("ftam://a%40b@h/x").user.as_deref(), Some("a@b"));
        let title = url("ftam://h/x?title=1.17.4.0.16&qualifier=7").names;
        assert_eq!(title.ap_title.unwrap().to_string(), "1.17.4.0.16");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (text, part) in [
            ("host/x", "such as ftam://"),
            ("http://host/x", "\"http\" is no scheme"),
            ("ftam:///x", "no host"),
            ("ftam://ada:secret@host/x", "KUMIKI_FTAM_PASSWORD"),
            ("ftam://::1/x", "[fd00::1]"),
            ("ftam://[::1/x", "bracket"),
            ("ftam://[::1]x/y", "no port"),
            ("ftam://host:0/x", "1 to 65535"),
            ("ftam://host/%zz", "%25"),
            ("ftam://host/%ff", "no UTF-8"),
            ("ftam://host/x?tsel", "NAME=VALUE"),
            ("ftam://host/x?tsel=0x1", "tsel: behind 0x"),
            ("ftam://host/x?tsel=a&tsel=b", "twice"),
            ("ftam://host/x?tsap=1", "there are tsel"),
            ("ftam://host/x?tpdu=100", "128, 256"),
            ("ftam://host/x?carrier=x25", "rfc1006 or xot"),
            ("ftam://host/x?x121=12345", "write carrier=xot"),
            ("ftam://host/x?carrier=rfc1006&from-x121=1", "write carrier=xot"),
            ("ftam://host/x?ssel=12345678901234567", "16 octets"),
        ] {
            let said = why(text);
            assert!(said.contains(part), "{text}: {said}");
        }
    }

    /// Pieces of which URLs are made, and others.
    fn pieces() -> impl Strategy<Value = String> {
        const KNOWN: &[&str] = &[
            "ftam",
            "mms",
            "://",
            "/",
            "?",
            "&",
            "=",
            "@",
            ":",
            "[",
            "]",
            "::1",
            "%",
            "%20",
            "%ff",
            "host",
            "102",
            "tsel",
            "from-psel",
            "title",
            "1.17.4",
            "qualifier",
            "tpdu",
            "2048",
            "carrier",
            "xot",
            "x121",
            "12345",
            "0x01",
            "#259",
            "\"a\"",
        ];
        let piece = prop_oneof![sample::select(KNOWN).prop_map(str::to_owned), ".{0,6}"];
        collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn a_call_of_x25_is_tuned_by_its_parameters() {
        let it = url("ftam://host/x?carrier=xot&x121=1&packet=512&window=4&cud=0301&cug=12&reverse=yes&nui=me");
        assert_eq!((it.circuit.packet, it.circuit.window), (512, 4));
        assert_eq!(it.circuit.user_data.octets(), [3, 1]);
        assert!(it.circuit.facilities.charging().reverse);
        assert_eq!(it.circuit.facilities.user(), Some(&Nui::new(b"me")));
        assert!(it.circuit.facilities.0.contains(&Facility::ClosedGroup(0x12)));
        for (parameter, said) in [
            ("packet=500", "16 to 4096"),
            ("window=8", "1 to 7"),
            ("cud=031", "hexadecimal"),
            ("cug=1", "two digits"),
            ("reverse=1", "yes or no"),
            ("nui=", "1 to 64"),
        ] {
            let said_of = why(&format!("ftam://host/x?carrier=xot&x121=1&{parameter}"));
            assert!(said_of.contains(said), "{said_of}");
        }
        assert!(why("ftam://host/x?packet=512").contains("carrier=xot"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_or_refused_with_a_reason(text in pieces(), scheme in 0..3) {
            let text = match scheme {
                0 => format!("ftam://h{text}"),
                1 => format!("mms://h{text}"),
                _ => text,
            };
            for read in [text.parse::<Url>(), Url::of_mms(&text)] {
                match read {
                    Ok(url) => {
                        prop_assert!(url.host.port > 0 && !url.host.name.is_empty());
                        prop_assert_eq!(url.scheme, text.split(':').next().unwrap());
                    }
                    Err(why) => prop_assert!(!why.is_empty()),
                }
            }
        }

        #[test]
        fn every_name_can_be_written(user: String, name: String) {
            let escaped = |text: &str| -> String {
                text.bytes().map(|octet| format!("%{octet:02x}")).collect()
            };
            let it = url(&format!("ftam://{}@h/{}", escaped(&user), escaped(&name)));
            prop_assert_eq!((it.user, it.name), (Some(user), name));
        }
    }
}
