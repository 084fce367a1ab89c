//! Reads a script.

use core::net::Ipv4Addr;
use core::str::FromStr;

use kumiki_graph::Duration;
use kumiki_wire::ppp::ppp::control::code;
use kumiki_wire::ppp::ppp::{chap, ipcp, ipv6cp, lcp, pap, protocol};

use super::{Choice, Counted, CraftedFrame, Pattern, Rule, Script, ScriptError, Stage, StageStart};

/// Packets of one flood at most.
const MOST: u32 = 10_000;
/// Octets of a packet or a value that a script says.
const MOST_OCTETS: usize = 4096;

const RULES: &str = "a rule begins with ignore, drop, late, double, bad, cut, nak, reject, send, without, flood, loop, echo, terminate or then";
const PROTOCOLS: &[(&str, u16)] = &[
    ("LCP", protocol::LCP),
    ("PAP", protocol::PAP),
    ("CHAP", protocol::CHAP),
    ("LQR", protocol::LQR),
    ("IPCP", protocol::IPCP),
    ("IPV6CP", protocol::IPV6CP),
];
const PAP_CODES: &[(&str, u8)] =
    &[("AuthReq", pap::code::REQUEST), ("AuthAck", pap::code::ACK), ("AuthNak", pap::code::NAK)];
const CHAP_CODES: &[(&str, u8)] = &[
    ("Challenge", chap::code::CHALLENGE),
    ("Response", chap::code::RESPONSE),
    ("Success", chap::code::SUCCESS),
    ("Failure", chap::code::FAILURE),
];

/// How the value of an option is written.
#[derive(Clone, Copy)]
enum ValueSyntax {
    Nothing,
    Number(usize),
    Address,
    Identifier,
    Auth,
    Period,
    Digits,
}

const LCP_OPTIONS: &[(&str, u8, ValueSyntax)] = &[
    ("mru", lcp::kind::MRU, ValueSyntax::Number(2)),
    ("asyncmap", lcp::kind::ACCM, ValueSyntax::Number(4)),
    ("auth", lcp::kind::AUTHENTICATION, ValueSyntax::Auth),
    ("quality", lcp::kind::QUALITY, ValueSyntax::Period),
    ("magic", lcp::kind::MAGIC, ValueSyntax::Number(4)),
    ("pcomp", lcp::kind::PFC, ValueSyntax::Nothing),
    ("accomp", lcp::kind::ACFC, ValueSyntax::Nothing),
    ("fcs", lcp::kind::FCS_ALTERNATIVES, ValueSyntax::Number(1)),
    ("padding", lcp::kind::SELF_DESCRIBING_PADDING, ValueSyntax::Number(1)),
    ("callback", lcp::kind::CALLBACK, ValueSyntax::Digits),
    ("compound", lcp::kind::COMPOUND_FRAMES, ValueSyntax::Nothing),
];
const IPCP_OPTIONS: &[(&str, u8, ValueSyntax)] = &[
    ("addrs", ipcp::kind::ADDRESSES, ValueSyntax::Digits),
    ("compress", ipcp::kind::COMPRESSION, ValueSyntax::Digits),
    ("addr", ipcp::kind::ADDRESS, ValueSyntax::Address),
    ("ms-dns1", ipcp::kind::PRIMARY_DNS, ValueSyntax::Address),
    ("ms-dns2", ipcp::kind::SECONDARY_DNS, ValueSyntax::Address),
    ("ms-wins1", ipcp::kind::PRIMARY_NBNS, ValueSyntax::Address),
    ("ms-wins2", ipcp::kind::SECONDARY_NBNS, ValueSyntax::Address),
];
const IPV6CP_OPTIONS: &[(&str, u8, ValueSyntax)] = &[
    ("addr", ipv6cp::kind::INTERFACE_IDENTIFIER, ValueSyntax::Identifier),
    ("compress", ipv6cp::kind::COMPRESSION, ValueSyntax::Digits),
];

/// What is wrong, and what would be right.
type ParseResult<T> = Result<T, (String, String)>;

fn wrong<T>(what: impl Into<String>, right: impl Into<String>) -> ParseResult<T> {
    Err((what.into(), right.into()))
}

/// The words of a line; text in quotes is one.
#[derive(Clone)]
struct Words<'a> {
    words: std::collections::VecDeque<(&'a str, bool)>,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> ParseResult<Self> {
        let mut words = std::collections::VecDeque::new();
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            if first == '#' {
                break;
            }
            if let Some(quoted) = rest.strip_prefix('"') {
                let Some((text, after)) = quoted.split_once('"') else {
                    return wrong("a quote is not closed", "text stands between two of \"");
                };
                words.push_back((text, true));
                rest = after.trim_start();
            } else {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                words.push_back((word, false));
                rest = after.trim_start();
            }
        }
        Ok(Self { words })
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.front().filter(|(_, quoted)| !quoted).map(|(word, _)| *word)
    }

    /// The next word, which must be there.
    fn next(&mut self, right: &str) -> ParseResult<&'a str> {
        match self.words.pop_front() {
            Some((word, false)) => Ok(word),
            Some((text, true)) => wrong(format!("\"{text}\" stands where a word must"), right),
            None => wrong("the line ends too early", right),
        }
    }

    /// Takes `word` where it is next.
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(word));
        if is_next {
            self.words.pop_front();
        }
        is_next
    }

    fn must(&mut self, word: &str, right: &str) -> ParseResult<()> {
        if self.take(word) {
            return Ok(());
        }
        match self.words.front() {
            Some((found, _)) => wrong(format!("`{found}` stands where `{word}` must"), right),
            None => wrong(format!("`{word}` is missing"), right),
        }
    }

    fn end(&self) -> ParseResult<()> {
        match self.words.front() {
            None => Ok(()),
            Some((word, _)) => wrong(format!("`{word}` is too much"), "the rule ends before it"),
        }
    }
}

/// Reads all lines.
pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    let mut stages = vec![Stage { begins: StageStart::After(Duration::ZERO), rules: Vec::new() }];
    for (index, line) in text.lines().enumerate() {
        let read = Words::of(line).and_then(|mut words| {
            if words.words.is_empty() {
                return Ok(());
            }
            if words.take("then") {
                let begins = begins(&mut words)?;
                let rules = Vec::new();
                stages.push(Stage { begins, rules });
            } else {
                let rule = rule(&mut words)?;
                if let Some(stage) = stages.last_mut() {
                    stage.rules.push(rule);
                }
            }
            words.end()
        });
        read.map_err(|(what, right)| ScriptError { line: index + 1, what, right })?;
    }
    Ok(Script { stages })
}

fn begins(words: &mut Words<'_>) -> ParseResult<StageStart> {
    const RIGHT: &str = "`then after 2s`, `then when LCP opened`, `then when rcvd LCP EchoReq` and `then when sent PAP AuthReq` are right";
    if words.words.is_empty() {
        return Ok(StageStart::After(Duration::ZERO));
    }
    if words.take("after") {
        return Ok(StageStart::After(time(words)?));
    }
    words.must("when", RIGHT)?;
    if words.take("rcvd") {
        return Ok(StageStart::Received(pattern(words)?));
    }
    if words.take("sent") {
        return Ok(StageStart::Sent(pattern(words)?));
    }
    let number = protocol(words)?;
    words.must("opened", RIGHT)?;
    Ok(StageStart::Opened(number))
}

fn rule(words: &mut Words<'_>) -> ParseResult<Counted> {
    let verb = words.next(RULES)?.to_ascii_lowercase();
    let always = |rule| Ok((rule, None));
    match verb.as_str() {
        "ignore" => {
            let times = first(words)?;
            Ok((Rule::Ignore(pattern(words)?), times))
        }
        "drop" => {
            let times = first(words)?;
            Ok((Rule::Drop(pattern(words)?), times))
        }
        "late" => {
            let times = first(words)?;
            let what = pattern(words)?;
            Ok((Rule::Late(what, time(words)?), times))
        }
        "double" => {
            let times = first(words)?;
            Ok((Rule::Double(pattern(words)?), times))
        }
        "bad" if words.take("id") => {
            let times = first(words)?;
            Ok((Rule::BadId(pattern(words)?), times))
        }
        "bad" if words.take("length") => {
            let times = first(words)?;
            let what = pattern(words)?;
            let by = number(words, "by how much, as +4 or -1")?;
            Ok((Rule::BadLength(what, by), times))
        }
        "bad" => wrong("what is bad is not said", "`bad id PACKET` or `bad length PACKET BY`"),
        "cut" => {
            let times = first(words)?;
            let what = pattern(words)?;
            let to = number(words, "how many octets are left")?;
            Ok((Rule::Cut(what, to), times))
        }
        "nak" => {
            let choice = choice(words, true)?;
            Ok((Rule::Nak(choice), times(words)?.unwrap_or(Some(1))))
        }
        "reject" => {
            let choice = choice(words, false)?;
            Ok((Rule::Reject(choice), times(words)?.unwrap_or(Some(1))))
        }
        "without" => always(Rule::Without(choice(words, false)?)),
        "send" => send(words),
        "flood" => {
            let made = made(words, true)?;
            let burst: u32 = number(words, "how many are sent")?;
            if burst > MOST {
                return wrong(format!("{burst} are too many"), format!("at most {MOST} go at once"));
            }
            let rule = Rule::Send { made, after: Duration::ZERO, every: None, burst };
            Ok((rule, Some(1)))
        }
        "loop" => {
            words.must("back", "`loop back` sends every frame back as it came")?;
            always(Rule::LoopBack)
        }
        "echo" => {
            const RIGHT: &str = "`echo with peer's magic` is right";
            words.must("with", RIGHT)?;
            words.must("peer's", RIGHT)?;
            words.must("magic", RIGHT)?;
            always(Rule::EchoPeersMagic)
        }
        "terminate" => {
            let after = if words.take("after") { time(words)? } else { Duration::ZERO };
            Ok((Rule::Terminate(after), Some(1)))
        }
        _ => wrong(format!("`{verb}` begins no rule"), RULES),
    }
}

/// `N of`, where it stands there.
fn first(words: &mut Words<'_>) -> ParseResult<Option<u32>> {
    let is_number = words.peek().is_some_and(|word| word.parse::<u32>().is_ok());
    if !is_number {
        return Ok(None);
    }
    let times = number(words, "how many")?;
    words.must("of", "`3 of LCP ConfReq` means the first three")?;
    Ok(Some(times))
}

/// `N times` or `for ever`, where it stands there.
fn times(words: &mut Words<'_>) -> ParseResult<Option<Option<u32>>> {
    if words.take("for") {
        words.must("ever", "`for ever` or `3 times` is right")?;
        return Ok(Some(None));
    }
    if words.take("once") {
        return Ok(Some(Some(1)));
    }
    if words.words.is_empty() {
        return Ok(None);
    }
    let times: u32 = number(words, "`for ever` or `3 times` is right")?;
    if times > MOST {
        let right = format!("at most {MOST} times, or for ever");
        return wrong(format!("{times} times are too many"), right);
    }
    words.must("times", "`for ever` or `3 times` is right")?;
    Ok(Some(Some(times)))
}

fn send(words: &mut Words<'_>) -> ParseResult<Counted> {
    // An option's name and a code's cannot be taken for each other.
    let mut ahead = words.clone();
    if let Ok(number) = protocol(&mut ahead)
        && let Some(word) = ahead.peek()
        && (word == "option" || options_of(number).iter().any(|(name, ..)| *name == word))
    {
        let choice = choice(words, true)?;
        return Ok((Rule::Set(choice), times(words)?.unwrap_or(Some(1))));
    }
    let made = made(words, false)?;
    let (mut after, mut every, mut count) = (Duration::ZERO, None, None);
    while !words.words.is_empty() {
        if words.take("after") {
            after = time(words)?;
        } else if words.take("every") {
            let time = time(words)?;
            if time.is_zero() {
                return wrong("every 0 s would be without end", "a time of 1ms or more");
            }
            every = Some(time);
        } else {
            count = times(words)?;
        }
    }
    let rule = Rule::Send { made, after, every, burst: 1 };
    let once = if every.is_some() { None } else { Some(1) };
    Ok((rule, count.unwrap_or(once)))
}

/// A frame that the script makes; of a flood the last word is how many.
fn made(words: &mut Words<'_>, is_flood: bool) -> ParseResult<CraftedFrame> {
    if words.take("raw") {
        let digits = words.next("the octets of a frame in hexadecimal digits")?;
        return Ok(CraftedFrame::Raw(hex(digits)?));
    }
    let Pattern { protocol: Some(number), code: Some(code) } = pattern(words)? else {
        return wrong("what is sent has no code", "for example LCP EchoReq, or LCP code 99");
    };
    let magic = number == protocol::LCP && (code::ECHO_REQUEST..=code::TIME_REMAINING).contains(&code);
    let data = match words.words.front() {
        Some(&(text, true)) => {
            words.words.pop_front();
            text.as_bytes().to_vec()
        }
        Some(&(word, false)) if hex(word).is_ok() && !is_count(words, is_flood) => {
            words.words.pop_front();
            hex(word)?
        }
        _ => Vec::new(),
    };
    if data.len() > MOST_OCTETS {
        return wrong("the data are too long", format!("at most {MOST_OCTETS} octets"));
    }
    Ok(CraftedFrame::Packet { protocol: number, code, data, magic })
}

/// Whether digits are a count and no data: the last word of a flood, or in front of `times`.
fn is_count(words: &Words<'_>, is_flood: bool) -> bool {
    match words.words.get(1) {
        None => is_flood,
        Some((next, _)) => *next == "times",
    }
}

fn protocol(words: &mut Words<'_>) -> ParseResult<u16> {
    let right = || {
        let names: Vec<&str> = PROTOCOLS.iter().map(|(name, _)| *name).collect();
        format!("there are {}", names.join(", "))
    };
    let word = words.next(&right())?;
    let found = PROTOCOLS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    match found {
        Some((_, number)) => Ok(*number),
        None => wrong(format!("`{word}` is no protocol"), right()),
    }
}

fn pattern(words: &mut Words<'_>) -> ParseResult<Pattern> {
    if words.take("any") {
        let (protocol, code) = (None, None);
        return Ok(Pattern { protocol, code });
    }
    let number = protocol(words)?;
    let of = |code| Ok(Pattern { protocol: Some(number), code });
    // A report has no code.
    if number == protocol::LQR || words.take("any") {
        return of(None);
    }
    if words.take("code") {
        return of(Some(self::number(words, "a code from 0 to 255")?));
    }
    let names: Vec<(&str, u8)> = match number {
        protocol::PAP => PAP_CODES.to_vec(),
        protocol::CHAP => CHAP_CODES.to_vec(),
        _ => {
            let last = if number == protocol::LCP { code::TIME_REMAINING } else { code::CODE_REJECT };
            (code::CONFIGURE_REQUEST..=last)
                .filter_map(|number| code::short_name(number).map(|name| (name, number)))
                .collect()
        }
    };
    let right = || {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        format!("there are {}, `code N` and `any`", names.join(", "))
    };
    let word = words.next(&right())?;
    match names.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        Some((_, code)) => of(Some(*code)),
        None => wrong(format!("`{word}` is no packet of that protocol"), right()),
    }
}

const fn options_of(number: u16) -> &'static [(&'static str, u8, ValueSyntax)] {
    match number {
        protocol::LCP => LCP_OPTIONS,
        protocol::IPCP => IPCP_OPTIONS,
        protocol::IPV6CP => IPV6CP_OPTIONS,
        _ => &[],
    }
}

/// A protocol and an option of it, with its value where one is wanted.
fn choice(words: &mut Words<'_>, has_value: bool) -> ParseResult<Choice> {
    let protocol = protocol(words)?;
    let names = options_of(protocol);
    let right = || {
        let names: Vec<&str> = names.iter().map(|(name, ..)| *name).collect();
        format!("there are {}, and `option N`", names.join(", "))
    };
    let word = words.next(&right())?;
    let (kind, form) = if word == "option" {
        (number(words, "a type from 0 to 255")?, ValueSyntax::Digits)
    } else {
        match names.iter().find(|(name, ..)| *name == word) {
            Some((_, kind, form)) => (*kind, *form),
            None => return wrong(format!("`{word}` is no option of that protocol"), right()),
        }
    };
    let value = if has_value { value(words, form)? } else { Vec::new() };
    if value.len() > kumiki_wire::ppp::ppp::control::MAX_VALUE {
        return wrong("the value is too long", "an option has 253 octets at most");
    }
    Ok(Choice { protocol, kind, value })
}

fn value(words: &mut Words<'_>, form: ValueSyntax) -> ParseResult<Vec<u8>> {
    if words.take("hex") {
        return hex(words.next("hexadecimal digits")?);
    }
    match form {
        ValueSyntax::Nothing => Ok(Vec::new()),
        ValueSyntax::Digits => match words.peek().map(hex) {
            Some(Ok(octets)) => {
                words.words.pop_front();
                Ok(octets)
            }
            _ => Ok(Vec::new()),
        },
        ValueSyntax::Number(octets) => {
            let right = format!("a number that {octets} octets hold, as 1500 or 0x000a0000");
            let word = words.next(&right)?;
            let number = match word.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => word.parse().ok(),
            };
            let bits = 8 * octets;
            match number.filter(|number| number >> bits == 0) {
                Some(number) => {
                    let all = number.to_be_bytes();
                    Ok(all.get(8 - octets..).unwrap_or_default().to_vec())
                }
                None => wrong(format!("`{word}` cannot be the value"), right),
            }
        }
        ValueSyntax::Address => {
            const RIGHT: &str = "an IPv4 address such as 10.0.0.1";
            let word = words.next(RIGHT)?;
            match word.parse::<Ipv4Addr>() {
                Ok(address) => Ok(address.octets().to_vec()),
                Err(_) => wrong(format!("`{word}` is no address"), RIGHT),
            }
        }
        ValueSyntax::Identifier => {
            const RIGHT: &str = "an identifier of 16 hexadecimal digits";
            let word = words.next(RIGHT)?;
            match hex(word) {
                Ok(octets) if octets.len() == 8 => Ok(octets),
                _ => wrong(format!("`{word}` is no identifier"), RIGHT),
            }
        }
        ValueSyntax::Auth => {
            const RIGHT: &str = "pap, chap, eap, or `hex` and digits";
            match words.next(RIGHT)? {
                "pap" => Ok(protocol::PAP.to_be_bytes().to_vec()),
                "eap" => Ok(protocol::EAP.to_be_bytes().to_vec()),
                "chap" => {
                    let [a, b] = protocol::CHAP.to_be_bytes();
                    Ok(vec![a, b, lcp::CHAP_MD5])
                }
                other => wrong(format!("`{other}` is no way to say who one is"), RIGHT),
            }
        }
        ValueSyntax::Period => {
            let hundredths = u32::try_from(time(words)?.as_millis() / 10).unwrap_or(u32::MAX);
            let mut octets = protocol::LQR.to_be_bytes().to_vec();
            octets.extend(hundredths.to_be_bytes());
            Ok(octets)
        }
    }
}

fn number<N: FromStr>(words: &mut Words<'_>, right: &str) -> ParseResult<N> {
    let word = words.next(right)?;
    match word.parse() {
        Ok(number) => Ok(number),
        Err(_) => wrong(format!("`{word}` is no such number"), right),
    }
}

fn time(words: &mut Words<'_>) -> ParseResult<Duration> {
    const RIGHT: &str = "a time is a number with ms or s, as 200ms";
    let word = words.next(RIGHT)?;
    let (digits, unit) = match word.strip_suffix("ms") {
        Some(digits) => (digits, Duration::from_millis(1)),
        None => (word.strip_suffix('s').unwrap_or("no time"), Duration::from_secs(1)),
    };
    match digits.parse::<u32>() {
        Ok(number) => Ok(unit * u64::from(number)),
        Err(_) => wrong(format!("`{word}` is no time"), RIGHT),
    }
}

/// Pairs of hexadecimal digits.
fn hex(digits: &str) -> ParseResult<Vec<u8>> {
    const RIGHT: &str = "an even number of hexadecimal digits";
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.is_empty() || pairs.len() > MOST_OCTETS {
        return wrong(format!("`{digits}` are no octets"), RIGHT);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let octets = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?));
    match octets.collect() {
        Some(octets) => Ok(octets),
        None => wrong(format!("`{digits}` are no octets"), RIGHT),
    }
}
