//! From text to a script.
//!
//! ```text
//! script   = [ header "---" ] { line }            the header is TOML, see `Header`; "#" begins a comment
//! line     = time [ "@" connection ] event
//! time     = [ "+" ] seconds [ "~" seconds ]      after the line before, or since the beginning; "~": so much later in real time
//! event    = "<" segment | "<" icmp               goes to the stack
//!          | ">" segment                          comes from it
//!          | call | hear | "?" see { see } | "silence" | "fresh"
//! segment  = [ "{" mark { mark } "}" ] flags seq ":" end "(" len ")" [ "ack" n ] [ "win" n ] [ "urg" n ] [ options ]
//! flags    = "-" | letters of S F R P U E W A "."
//! options  = "<...>" | "<" option { "," option } ">"
//! icmp     = "icmp" name [ "mtu" n ] [ "seq" n ]
//! ```

use kumiki_graph::Duration;
use kumiki_wire::inet::ipv4::Ecn;
use kumiki_wire::inet::tcp::Flags;
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};

use super::Script;
use super::cursor::{Cursor, ScriptError, SyntaxError};
use super::header::Header;
use super::notation::{
    Call, Connection, Event, EventTime, Icmp, IcmpKind, LETTERS, Line, Marks, Number, Opt, Options, ProgramEvent,
    Seconds, Segment, Set, StackView, Time,
};

type ParseResult<T> = Result<T, SyntaxError>;

/// Reads the script `text`; `file` is named where something is wrong with it.
///
/// # Errors
/// [`ScriptError`], the first one.
pub fn parse(file: &str, text: &str) -> Result<Script, ScriptError> {
    let wrong = |number: usize, fault: SyntaxError| ScriptError {
        file: file.to_owned(),
        line: number,
        column: fault.at + 1,
        what: fault.what,
        expected: fault.expected,
    };
    let rule = text.lines().position(|line| line.trim_end() == "---");
    let (header, skipped) = match rule {
        Some(rule) => {
            let toml: Vec<&str> = text.lines().take(rule).collect();
            let read = Header::read(file, &toml.join("\n"));
            let header = read.map_err(|fault| {
                let (what, expected) = fault.words();
                let (line, column) = fault.line_and_column().unwrap_or((1, 1));
                ScriptError {
                    file: file.to_owned(),
                    line,
                    column,
                    what,
                    expected: expected.unwrap_or_else(|| "see docs/scripts.md".to_owned()),
                }
            })?;
            (header, rule + 1)
        }
        None => (Header::default(), 0),
    };
    let mut lines = Vec::new();
    let mut last = Duration::ZERO;
    for (index, text) in text.lines().enumerate().skip(skipped) {
        let number = index + 1;
        let mut cursor = Cursor::new(text);
        if cursor.is_done() {
            continue;
        }
        let line = line(number, &mut cursor).map_err(|fault| wrong(number, fault))?;
        let time = match line.time.moment {
            EventTime::At(time) => time,
            EventTime::After(time) => last + time,
        };
        if time < last {
            let what = format!("{} is before {}", Seconds(time), Seconds(last));
            let expected = "lines stand in the order of their times".to_owned();
            let at = 0;
            return Err(wrong(number, SyntaxError { at, what, expected }));
        }
        last = time;
        lines.push(line);
    }
    Ok(Script { file: file.to_owned(), header, lines })
}

/// Reads one line.
fn line(number: usize, cursor: &mut Cursor<'_>) -> ParseResult<Line> {
    let time = time(cursor)?;
    let connection = if cursor.take_after_blanks("@") { connection(cursor)? } else { 1 };
    let event = event(cursor)?;
    if !cursor.is_done() {
        return Err(cursor.unexpected("the end of the line"));
    }
    Ok(Line { number, time, connection, event })
}

fn connection(cursor: &mut Cursor<'_>) -> ParseResult<Connection> {
    let range = "a connection's number, 1 to 99";
    let fault = cursor.unexpected(range);
    let number = cursor.number(range)?;
    if (1..=99).contains(&number) { Ok(number) } else { Err(fault) }
}

fn time(cursor: &mut Cursor<'_>) -> ParseResult<Time> {
    cursor.skip();
    let moment = if cursor.take("+") {
        EventTime::After(cursor.seconds("a time after the line before")?)
    } else {
        EventTime::At(cursor.seconds("a time: +0.1 after the line before, or 0.1 since the beginning")?)
    };
    let late = if cursor.take("~") { Some(cursor.seconds("how much later it may come in real time")?) } else { None };
    Ok(Time { moment, late })
}

fn event(cursor: &mut Cursor<'_>) -> ParseResult<Event> {
    if cursor.take_after_blanks("<") {
        return if cursor.take_word("icmp") {
            icmp(cursor).map(Event::Icmp)
        } else {
            segment(cursor, true).map(Event::In)
        };
    }
    if cursor.take(">") {
        return segment(cursor, false).map(Event::Out);
    }
    if cursor.take("?") {
        let mut sights = vec![see(cursor)?];
        while !cursor.is_done() {
            sights.push(see(cursor)?);
        }
        return Ok(Event::See(sights));
    }
    word(cursor)
}

/// The events that begin with a word.
#[derive(Clone, Copy)]
enum Word {
    Listen,
    Call(Call),
    Write,
    Urge,
    Read,
    Set,
    Readable,
    Hear(ProgramEvent),
    Silence,
    Fresh,
}

fn word(cursor: &mut Cursor<'_>) -> ParseResult<Event> {
    let mut known = vec![
        ("listen", Word::Listen),
        ("connect", Word::Call(Call::Connect)),
        ("accept", Word::Call(Call::Accept)),
        ("write", Word::Write),
        ("urge", Word::Urge),
        ("read", Word::Read),
        ("shutdown", Word::Call(Call::Shutdown)),
        ("close", Word::Call(Call::Close)),
        ("abort", Word::Call(Call::Abort)),
        ("set", Word::Set),
        ("readable", Word::Readable),
        ("silence", Word::Silence),
        ("fresh", Word::Fresh),
    ];
    known.extend(ProgramEvent::ALL.map(|(hear, name)| (name, Word::Hear(hear))));
    let octets = "how many octets";
    Ok(match cursor.one_of("event", &known)? {
        Word::Listen => {
            let backlog = if cursor.is_done() { BACKLOG } else { cursor.number("how many callers may wait")? };
            Event::Call(Call::Listen(backlog))
        }
        Word::Call(call) => Event::Call(call),
        Word::Write => Event::Call(Call::Write(size(cursor, octets)?)),
        Word::Urge => Event::Call(Call::Urge(size(cursor, octets)?)),
        Word::Read => Event::Call(Call::Read(size(cursor, octets)?)),
        Word::Set => Event::Call(Call::Set(set(cursor)?)),
        Word::Readable => Event::Hear(ProgramEvent::Readable(size(cursor, octets)?)),
        Word::Hear(hear) => Event::Hear(hear),
        Word::Silence => Event::Silence,
        Word::Fresh => Event::Fresh,
    })
}

/// Callers that may wait where `listen` does not say.
const BACKLOG: u32 = 8;

/// The most octets that one call or all of a script's data can be.
const MOST: u32 = 1 << 30;

fn size(cursor: &mut Cursor<'_>, what: &str) -> ParseResult<u32> {
    cursor.skip();
    let fault = cursor.fault("that is more than a script can say", format!("here belongs {what}, at most {MOST}"));
    let size = cursor.number(what)?;
    if size <= MOST { Ok(size) } else { Err(fault) }
}

fn span(cursor: &mut Cursor<'_>, what: &str) -> ParseResult<Duration> {
    cursor.skip();
    cursor.seconds(what)
}

fn set(cursor: &mut Cursor<'_>) -> ParseResult<Set> {
    #[derive(Clone, Copy)]
    enum Key {
        Plain(Set),
        KeepAlive,
        UserTimeout,
        Ttl,
        Tos,
    }
    let known = [
        ("nodelay", Key::Plain(Set::NoDelay(true))),
        ("nagle", Key::Plain(Set::NoDelay(false))),
        ("minshall", Key::Plain(Set::Minshall)),
        ("keepalive", Key::KeepAlive),
        ("usertimeout", Key::UserTimeout),
        ("ttl", Key::Ttl),
        ("tos", Key::Tos),
    ];
    Ok(match cursor.one_of("setting", &known)? {
        Key::Plain(set) => set,
        Key::KeepAlive if cursor.take_word("off") => Set::KeepAlive(None),
        Key::KeepAlive => {
            let idle = span(cursor, "after how long an idle peer is asked, or off")?;
            let interval = span(cursor, "after how long it is asked again")?;
            let count = cursor.number("how often it is asked")?;
            Set::KeepAlive(Some((idle, interval, count)))
        }
        Key::UserTimeout => Set::UserTimeout(span(cursor, "a time")?),
        Key::Ttl => Set::Ttl(cursor.number("a time to live, 0 to 255")?),
        Key::Tos => Set::Tos(cursor.number("an octet, 0 to 255")?),
    })
}

fn see(cursor: &mut Cursor<'_>) -> ParseResult<StackView> {
    #[derive(Clone, Copy)]
    enum Key {
        Cwnd,
        Ssthresh,
        SndWnd,
        RcvWnd,
        Srtt,
        Rto,
        State,
        Connections,
        Urgent,
        Plain(StackView),
    }
    let known = [
        ("state", Key::State),
        ("rto", Key::Rto),
        ("cwnd", Key::Cwnd),
        ("ssthresh", Key::Ssthresh),
        ("snd_wnd", Key::SndWnd),
        ("rcv_wnd", Key::RcvWnd),
        ("srtt", Key::Srtt),
        ("connections", Key::Connections),
        ("urgent", Key::Urgent),
        ("no_answer", Key::Plain(StackView::NoAnswer)),
        ("answered", Key::Plain(StackView::Answered)),
        ("problem", Key::Plain(StackView::Problem)),
    ];
    let octets = "a number of octets";
    Ok(match cursor.one_of("state of our stack", &known)? {
        Key::State => StackView::State(state(cursor)?),
        Key::Rto => StackView::Rto(span(cursor, "a time")?),
        Key::Cwnd => StackView::Cwnd(cursor.number(octets)?),
        Key::Ssthresh => StackView::Ssthresh(cursor.number(octets)?),
        Key::SndWnd => StackView::SndWnd(cursor.number(octets)?),
        Key::RcvWnd => StackView::RcvWnd(cursor.number(octets)?),
        Key::Srtt => StackView::Srtt(span(cursor, "a time")?),
        Key::Connections => StackView::Connections(cursor.number("how many")?),
        Key::Urgent => StackView::Urgent(cursor.number(octets)?),
        Key::Plain(see) => see,
    })
}

fn state(cursor: &mut Cursor<'_>) -> ParseResult<&'static str> {
    cursor.skip();
    let fault = cursor.unexpected(format!("a state: one of {}", StackView::STATES.join(", ")));
    let word = cursor.run(|it| it.is_ascii_alphanumeric() || it == '-');
    let found = StackView::STATES.into_iter().find(|state| *state == word);
    found.ok_or(fault)
}

fn icmp(cursor: &mut Cursor<'_>) -> ParseResult<Icmp> {
    let known = IcmpKind::ALL.map(|it| (it.name, it.kind));
    let kind = cursor.one_of("ICMP error", &known)?;
    let mtu = if cursor.take_word("mtu") { cursor.number("an MTU, 0 to 65535")? } else { 0 };
    let seq = if cursor.take_word("seq") { Some(relative(cursor, "a relative sequence number")?) } else { None };
    Ok(Icmp { kind, mtu, seq })
}

/// A relative sequence number, of the 32 bits that there are.
fn relative(cursor: &mut Cursor<'_>, what: &str) -> ParseResult<i64> {
    cursor.skip();
    let fault = cursor.fault("that is beyond 32 bits", "here belongs a relative sequence number");
    let number: i64 = cursor.number(what)?;
    if number.unsigned_abs() < 1 << 32 { Ok(number) } else { Err(fault) }
}

fn segment(cursor: &mut Cursor<'_>, inward: bool) -> ParseResult<Segment> {
    let marks = if cursor.take_after_blanks("{") { marks(cursor, inward)? } else { Marks::default() };
    let flags = flags(cursor)?;
    let seq = relative(cursor, "the sequence number, as in 1:1001(1000)")?;
    cursor.need(":", "\":\" and the end, as in 1:1001(1000)")?;
    cursor.skip();
    let place = cursor.fault("", "");
    let end = relative(cursor, "the sequence number after the last, as in 1:1001(1000)")?;
    cursor.need("(", "\"(\" and the length, as in 1:1001(1000)")?;
    let len: u32 = cursor.number("the number of octets, as in 1:1001(1000)")?;
    if len > 65_535 {
        let what = format!("{len} octets are no segment");
        return Err(cursor.fault(what, "at most 65535"));
    }
    cursor.need(")", "\")\"")?;
    if seq + i64::from(len) != end {
        return Err(SyntaxError {
            what: format!("{seq} and {len} octets do not end at {end}"),
            expected: format!("{seq}:{}({len}) would be right", seq + i64::from(len)),
            ..place
        });
    }
    let mut read =
        Segment { marks, flags, seq, len, ack: None, window: None, urgent: None, options: Options::List(Vec::new()) };
    if cursor.take_word("ack") {
        read.ack = Some(relative(cursor, "the sequence number acknowledged")?);
    }
    if read.ack.is_some() != flags.contains(Flags::ACK) {
        return Err(cursor.fault("the flag \".\" and \"ack\" belong together", "either both or none"));
    }
    if cursor.take_word("win") {
        read.window = Some(cursor.number("a window, 0 to 65535")?);
    }
    if cursor.take_word("urg") {
        read.urgent = Some(cursor.number("an urgent pointer, 0 to 65535")?);
    }
    if cursor.take_after_blanks("<") {
        read.options = options(cursor, inward)?;
    }
    Ok(read)
}

fn marks(cursor: &mut Cursor<'_>, inward: bool) -> ParseResult<Marks> {
    #[derive(Clone, Copy)]
    enum Key {
        Ttl,
        Tos,
        Ecn(Ecn),
        Df(bool),
        BadSum,
        Other,
    }
    let known = [
        ("ttl", Key::Ttl),
        ("tos", Key::Tos),
        ("noecn", Key::Ecn(Ecn::NotEct)),
        ("ect0", Key::Ecn(Ecn::Ect0)),
        ("ect1", Key::Ecn(Ecn::Ect1)),
        ("ce", Key::Ecn(Ecn::Ce)),
        ("df", Key::Df(true)),
        ("nodf", Key::Df(false)),
        ("badsum", Key::BadSum),
        ("other", Key::Other),
    ];
    let mut marks = Marks::default();
    loop {
        match cursor.one_of("mark", &known)? {
            Key::Ttl => marks.ttl = Some(cursor.number("a time to live, 0 to 255")?),
            Key::Tos => marks.tos = Some(cursor.number("an octet, 0 to 255")?),
            Key::Ecn(ecn) => marks.ecn = Some(ecn),
            Key::Df(df) => marks.df = Some(df),
            Key::BadSum => marks.bad_sum = true,
            Key::Other => marks.other = true,
        }
        if cursor.take_after_blanks("}") {
            break;
        }
    }
    if !inward && (marks.bad_sum || marks.other) {
        return Err(cursor.fault("no stack is expected to send that", "badsum and other belong to segments with \"<\""));
    }
    Ok(marks)
}

fn flags(cursor: &mut Cursor<'_>) -> ParseResult<Flags> {
    cursor.skip();
    let letters = "flags: - for none, or letters of SFRPUEWA. such as S. or P.";
    if cursor.take("-") {
        return Ok(Flags::NONE);
    }
    let mut flags = Flags::NONE;
    while let Some((flag, _)) = LETTERS.iter().find(|(_, letter)| cursor.take(letter.encode_utf8(&mut [0; 4]))) {
        flags |= *flag;
    }
    if flags == Flags::NONE {
        return Err(cursor.unexpected(letters));
    }
    Ok(flags)
}

fn options(cursor: &mut Cursor<'_>, inward: bool) -> ParseResult<Options> {
    if cursor.take_after_blanks("...") {
        if inward {
            return Err(cursor.fault("what is sent must be said", "the options themselves, such as <mss 1460>"));
        }
        cursor.skip();
        cursor.need(">", "\">\"")?;
        return Ok(Options::Any);
    }
    let mut list = Vec::new();
    let mut octets = 0_usize;
    loop {
        let option = option(cursor)?;
        octets += option.size();
        list.push(option);
        if octets > kumiki_wire::inet::tcp::options::MAX_LEN {
            return Err(cursor.fault(format!("{octets} octets of options do not fit into a header"), "at most 40"));
        }
        if cursor.take_after_blanks(">") {
            return Ok(Options::List(list));
        }
        cursor.need(",", "\",\" and another option, or \">\"")?;
    }
}

fn any_or(cursor: &mut Cursor<'_>, most: u32, what: &str) -> ParseResult<Number> {
    if cursor.take_after_blanks("*") {
        return Ok(Number::Any);
    }
    let fault = cursor.unexpected(format!("{what}, at most {most}, or *"));
    match cursor.number(what)? {
        number if number <= most => Ok(Number::Is(number)),
        _ => Err(fault),
    }
}

fn option(cursor: &mut Cursor<'_>) -> ParseResult<Opt> {
    #[derive(Clone, Copy)]
    enum Key {
        End,
        Nop,
        Mss,
        WindowScale,
        SackOk,
        Sack,
        Timestamps,
        UserTimeout,
        AccEcn,
        Hex,
    }
    let known = [
        ("mss", Key::Mss),
        ("sackOK", Key::SackOk),
        ("TS", Key::Timestamps),
        ("nop", Key::Nop),
        ("wscale", Key::WindowScale),
        ("sack", Key::Sack),
        ("uto", Key::UserTimeout),
        ("ECN", Key::AccEcn),
        ("eol", Key::End),
        ("hex", Key::Hex),
    ];
    Ok(match cursor.one_of("option", &known)? {
        Key::End => Opt::End,
        Key::Nop => Opt::Nop,
        Key::Mss => Opt::Mss(any_or(cursor, 65_535, "a segment size")?),
        Key::WindowScale => Opt::WindowScale(any_or(cursor, 255, "a shift count")?),
        Key::SackOk => Opt::SackOk,
        Key::Sack => {
            let mut blocks = Vec::new();
            loop {
                let left = relative(cursor, "a block, such as 1001:2001")?;
                cursor.need(":", "\":\" and the end of the block")?;
                let right = relative(cursor, "the end of the block")?;
                blocks.push((left, right));
                if cursor.fork().number::<i64>("").is_err() {
                    break Opt::Sack(blocks);
                }
            }
        }
        Key::Timestamps => {
            let both = "TS val 1 ecr 2";
            if !cursor.take_word("val") {
                return Err(cursor.unexpected(both));
            }
            let val = any_or(cursor, u32::MAX, "TSval")?;
            if !cursor.take_word("ecr") {
                return Err(cursor.unexpected(both));
            }
            Opt::Timestamps(val, any_or(cursor, u32::MAX, "TSecr")?)
        }
        Key::UserTimeout => {
            let fault = cursor.unexpected("at most 32767 s or m");
            let value: u16 = cursor.number("a user timeout such as 100s or 5m")?;
            if value > 0x7fff {
                return Err(fault);
            }
            let minutes = cursor.take("m");
            if !minutes {
                cursor.need("s", "s for seconds or m for minutes")?;
            }
            Opt::UserTimeout(value, minutes)
        }
        Key::AccEcn => Opt::AccEcn(counters(cursor)?),
        Key::Hex => {
            cursor.skip();
            let digits = cursor.run(|it| it.is_ascii_hexdigit());
            let pairs = digits.as_bytes().as_chunks::<2>();
            let ([_, ..], []) = pairs else {
                return Err(cursor.unexpected("octets, two hexadecimal digits each, before this"));
            };
            let (pairs, _) = pairs;
            let octet = |pair: &[u8; 2]| {
                let text = core::str::from_utf8(pair).unwrap_or_default();
                u8::from_str_radix(text, 16).unwrap_or_default()
            };
            Opt::Hex(pairs.iter().map(octet).collect())
        }
    })
}

/// Accurate ECN's, in one of their two orders, as many as there are.
fn counters(cursor: &mut Cursor<'_>) -> ParseResult<AccEcn> {
    let order = if cursor.fork().take_word("e1b") { Order::One } else { Order::Zero };
    let names = match order {
        Order::Zero => ["e0b", "ceb", "e1b"],
        Order::One => ["e1b", "ceb", "e0b"],
    };
    let mut found = [0; AccEcn::FIELDS];
    let mut used = 0;
    for (name, place) in names.into_iter().zip(&mut found) {
        if !cursor.take_word(name) {
            break;
        }
        let fault = cursor.unexpected("a counter of 24 bits");
        *place = cursor.number("octets")?;
        if *place > AccEcn::MASK {
            return Err(fault);
        }
        used += 1;
    }
    let [first, ceb, last] = found;
    Ok(match order {
        Order::Zero => AccEcn::new(order, used, first, ceb, last),
        Order::One => AccEcn::new(order, used, last, ceb, first),
    })
}

impl Opt {
    /// Octets on the wire.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::End | Self::Nop => 1,
            Self::Mss(_) | Self::UserTimeout(..) => 4,
            Self::WindowScale(_) => 3,
            Self::SackOk => 2,
            Self::Sack(blocks) => 2 + 8 * blocks.len(),
            Self::Timestamps(..) => 10,
            Self::AccEcn(counters) => counters.len(),
            Self::Hex(octets) => octets.len(),
        }
    }
}
