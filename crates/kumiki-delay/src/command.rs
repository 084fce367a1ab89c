//! Lines that change a delay generator or ask it something: the same on the command line, in a schedule, on the
//! standard input and on a control socket.
//!
//! | | |
//! |---|---|
//! | Form | words with blanks between; a quantity may be one word (`50ms`) or two (`50 ms`); what follows `#` is not read |
//! | All or nothing | a line with a mistake changes nothing, and the answer says what would be right |
//! | Left out | several commands on one line |

use kumiki_graph::{Duration, Instant};
use kumiki_link::Spread;

use super::settings::{Loss, Queue, Reorder, SPREADS, Settings, usual};
use kumiki_config::quantity::{self, Octets, Quantity, Share};
use kumiki_media::Rule;
use kumiki_settings::Word as _;

/// What settings are, for people.
macro_rules! settings_help {
    () => {
        "\
Settings, in the order in which a unit meets them; several may stand on one line:
  rate R         units are put on a line of this rate, one behind the other; none: at once
  queue N packets
                 so many may wait for the line, or so many octets (queue 64KiB), or none:
                 any number; the rest is dropped
  queue codel|fq-codel|pie [N packets|SIZE|none]
                 they drop or mark by how long units wait (RFC 8289, 8290, 8033)
  overhead SIZE  each unit has so many octets more on the line
  loss P         a unit that leaves the line is lost with this probability: 1% or 0.01; none
  loss gilbert TO_BAD TO_GOOD [BAD [GOOD]]
                 in bursts: how likely the state changes before a unit, and the loss in
                 each state (100% and 0%)
  duplicate P    a unit comes twice
  corrupt P      a bit of a unit is wrong
  delay T        every unit waits so long
  jitter T [uniform|normal|exponential|pareto]
                 and so much more: from 0 to T; around 0 with the standard deviation T;
                 with the mean T, and a light or a heavy tail
  order kept|free
                 free: units may overtake each other for their jitter
  reorder P by T
                 a unit is held back so long, and others overtake it
  reorder P behind N [T]
                 until N others have passed, or so long where fewer come (1 s)
  state down|up  down: what comes to the end of the line is lost, until it is up again
  clear          all of them as at the beginning: nothing is done

What has come keeps its fate: a unit that waits for its time leaves at that time. When the
rate changes the unit on the line keeps its end, and when a queue shrinks what waits in it
stays; loss and delay are those at the end of the line. Unless the order is free, what
comes later leaves no earlier."
    };
}

/// What the lines are, for people.
pub const HELP: &str = concat!(
    "\
WAY SETTING...   changes one direction or both; WAY is a>b, b>a (also ab, ba; of
                 `kumiki link` up, down) or both
stats [json]     what has crossed so far
settings         how both directions are set
reset            counts from nothing again
quit             ends, as Ctrl-C does; the program of `kumiki link` goes on,
                 without a network
help             this

",
    settings_help!()
);

/// What stands in them behind a direction.
pub const SETTINGS_HELP: &str = settings_help!();

/// Which directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Directions {
    /// From the first end to the second.
    AToB,
    /// From the second end to the first.
    BToA,
    /// Each on its own, in the same way.
    Both,
}

impl Directions {
    /// Whether the direction from the end `from` (0 or 1) is one of them.
    pub(super) const fn has(self, from: usize) -> bool {
        match self {
            Self::AToB => from == 0,
            Self::BToA => from == 1,
            Self::Both => true,
        }
    }
}

/// One setting and its new value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Of [`Settings::rate`].
    Rate(Option<quantity::Rate>),
    /// Of [`Settings::rule`] and [`Settings::queue`].
    Queue(Rule, Queue),
    /// Of [`Settings::overhead`].
    Overhead(Octets),
    /// Of [`Settings::loss`].
    Loss(Loss),
    /// Of [`Settings::duplicate`].
    Duplicate(Share),
    /// Of [`Settings::corrupt`].
    Corrupt(Share),
    /// Of [`Settings::delay`].
    Delay(Duration),
    /// Of [`Settings::jitter`] and [`Settings::spread`].
    Jitter(Duration, Spread),
    /// Of [`Settings::overtake`].
    Overtake(bool),
    /// Of [`Settings::reorder`].
    Reorder(Option<(Share, Reorder)>),
    /// Of [`Settings::is_down`].
    Down(bool),
    /// All as at the beginning.
    Clear,
}

impl Change {
    /// Makes it.
    pub fn apply(self, to: &mut Settings) {
        match self {
            Self::Rate(rate) => to.rate = rate,
            Self::Queue(rule, queue) => (to.rule, to.queue) = (rule, queue),
            Self::Overhead(octets) => to.overhead = octets,
            Self::Loss(loss) => to.loss = loss,
            Self::Duplicate(share) => to.duplicate = share,
            Self::Corrupt(share) => to.corrupt = share,
            Self::Delay(time) => to.delay = time,
            Self::Jitter(time, spread) => (to.jitter, to.spread) = (time, spread),
            Self::Overtake(overtake) => to.overtake = overtake,
            Self::Reorder(reorder) => to.reorder = reorder,
            Self::Down(is_down) => to.is_down = is_down,
            Self::Clear => *to = Settings::default(),
        }
    }
}

/// What one line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Nothing: an empty line or a comment.
    Nothing,
    /// Changes settings, in this order.
    Set(Directions, Vec<Change>),
    /// Statistics; as JSON where that is said.
    Stats {
        /// As JSON.
        json: bool,
    },
    /// How both directions are set.
    Settings,
    /// Counts from nothing again.
    Reset,
    /// Ends.
    Quit,
    /// Says what lines there are.
    Help,
}

/// What the directions are called, from the first end and from the second, unless they have names of their own.
pub const WAYS: [&str; 2] = ["a>b", "b>a"];

const SETTINGS: [&str; 12] = [
    "rate",
    "queue",
    "overhead",
    "loss",
    "duplicate",
    "corrupt",
    "delay",
    "jitter",
    "order",
    "reorder",
    "state",
    "clear",
];

/// What may stand behind `queue`.
const QUEUES: [&str; 6] = ["100 packets", "64KiB", "none", "codel", "fq-codel", "pie"];

/// No time that is longer makes sense here, and sums of such times cannot overflow.
const LONGEST: Duration = Duration::from_secs(3600);

impl Command {
    /// Reads one line.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what would be right.
    pub fn parse(line: &str) -> Result<Self, String> {
        Self::parse_as(line, WAYS)
    }

    /// The same where the directions are called so, which mistakes are answered with.
    ///
    /// # Errors
    /// As [`Command::parse`].
    pub fn parse_as(line: &str, ways: [&str; 2]) -> Result<Self, String> {
        let mut words = Words::of(line);
        let Some(first) = words.next() else {
            return Ok(Self::Nothing);
        };
        let command = match first {
            "a>b" | "ab" | "up" => Self::Set(Directions::AToB, words.changes(ways)?),
            "b>a" | "ba" | "down" => Self::Set(Directions::BToA, words.changes(ways)?),
            "both" => Self::Set(Directions::Both, words.changes(ways)?),
            "stats" => Self::Stats { json: words.next_if("json") },
            "settings" => Self::Settings,
            "reset" => Self::Reset,
            "quit" => Self::Quit,
            "help" => Self::Help,
            other => {
                let [a, b] = ways;
                let known = [a, b, "both", "stats", "settings", "reset", "quit", "help"];
                return Err(unknown("no command", other, &known));
            }
        };
        match words.next() {
            Some(word) => Err(format!("`{word}` is too much behind `{first}`")),
            None => Ok(command),
        }
    }

    /// Reads a line of a schedule: a time since the beginning, such as `10s`, and a line as above.
    ///
    /// # Errors
    /// As [`Command::parse`].
    pub fn parse_timed(line: &str) -> Result<Option<(Instant, Self)>, String> {
        Self::parse_timed_as(line, WAYS)
    }

    /// The same where the directions are called so.
    ///
    /// # Errors
    /// As [`Command::parse`].
    pub fn parse_timed_as(line: &str, ways: [&str; 2]) -> Result<Option<(Instant, Self)>, String> {
        let Some((at, rest)) = timed(line)? else {
            return Ok(None);
        };
        let command = Self::parse_as(&rest, ways)?;
        if command == Self::Nothing {
            return Err("a line follows the time, as in 10s both delay 100ms".to_owned());
        }
        Ok(Some((at, command)))
    }
}

/// The time with which a line of a schedule begins, and what is left of it; `None` for an empty line or a comment.
///
/// # Errors
/// As [`Command::parse`].
pub fn timed(line: &str) -> Result<Option<(Instant, String)>, String> {
    let mut words = Words::of(line);
    if words.0.is_empty() {
        return Ok(None);
    }
    let time: Duration = words.quantity("a time")?;
    let rest: Vec<&str> = words.0.into();
    Ok(Some((Instant::ZERO + time, rest.join(" "))))
}

impl Change {
    /// What `text` sets, without a direction in front: `rate 1Mb/s loss 2%`.
    ///
    /// # Errors
    /// As [`Command::parse`].
    pub fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let changes = Words::of(text).all()?;
        if changes.is_empty() {
            return Err(format!(
                "nothing is set; write settings, as in 'delay 50ms'; there are {}",
                SETTINGS.join(", ")
            ));
        }
        Ok(changes)
    }

    /// What stands behind `setting`, such as `5ms normal` behind `jitter`; other settings may follow.
    ///
    /// # Errors
    /// As [`Command::parse`].
    pub fn parse_value(setting: &str, value: &str) -> Result<Vec<Self>, String> {
        let mut words = Words::of(value);
        let mut changes = vec![words.change(setting)?];
        changes.extend(words.all()?);
        Ok(changes)
    }
}

/// `word` is none of `known`.
fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    format!("`{word}` is {what}; there are {}{}", known.join(", "), near(word, known))
}

/// What of `known` was probably meant by `word`, as the end of a sentence; empty where nothing was.
#[must_use]
pub fn near(word: &str, known: &[&str]) -> String {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(word, known), *known)).min();
    let near = near.filter(|(distance, _)| *distance <= 2);
    near.map_or_else(String::new, |(_, near)| format!("; try {near}"))
}

/// `word` stands behind a jitter.
fn no_spread(word: &str) -> String {
    let spreads = SPREADS.map(|(name, _)| name);
    let near = near(word, &[&spreads[..], &SETTINGS].concat());
    format!("`{word}` is no setting, and no way to spread; there are {}{near}", spreads.join(", "))
}

/// The words of a line that are still to be read.
struct Words<'a>(std::collections::VecDeque<&'a str>);

impl<'a> Words<'a> {
    /// Those of a line, but for what follows `#`.
    fn of(line: &'a str) -> Self {
        let line = line.split('#').next().unwrap_or_default();
        Self(line.split_whitespace().collect())
    }

    /// The settings that they are to the last.
    fn all(&mut self) -> Result<Vec<Change>, String> {
        let mut changes = Vec::new();
        while let Some(word) = self.next() {
            changes.push(self.change(word).map_err(|why| format!("{word}: {why}"))?);
        }
        Ok(changes)
    }

    /// The same, behind a direction.
    fn changes(&mut self, [way, _]: [&str; 2]) -> Result<Vec<Change>, String> {
        let changes = self.all()?;
        if changes.is_empty() {
            let there = SETTINGS.join(", ");
            return Err(format!("a setting follows the direction, as in {way} delay 50ms; there are {there}"));
        }
        Ok(changes)
    }

    fn next(&mut self) -> Option<&'a str> {
        self.0.pop_front()
    }

    /// Takes the next word if it is this one.
    fn next_if(&mut self, word: &str) -> bool {
        let it_is = self.0.front() == Some(&word);
        if it_is {
            self.0.pop_front();
        }
        it_is
    }

    /// Whether the next word begins as a number does.
    fn has_number(&self) -> bool {
        let first = self.0.front().and_then(|word| word.bytes().next());
        first.is_some_and(|octet| octet.is_ascii_digit())
    }

    /// A quantity of one word or two.
    fn quantity<Q: Quantity>(&mut self, what: &str) -> Result<Q, String> {
        let Some(first) = self.next() else {
            return Err(format!("{what} is missing; expected {}", Q::EXPECTED));
        };
        let is_bare = first.ends_with(|end: char| end.is_ascii_digit());
        if let Some(second) = self.0.front()
            && is_bare
            && let Ok(value) = quantity::parse(&format!("{first} {second}"))
        {
            self.0.pop_front();
            return Ok(value);
        }
        quantity::parse(first).map_err(|why| why.to_string())
    }

    fn time(&mut self) -> Result<Duration, String> {
        let time = self.quantity("a time")?;
        if time > LONGEST {
            return Err(format!("{time} is too long; {LONGEST} is the most"));
        }
        Ok(time)
    }

    fn share(&mut self) -> Result<Share, String> {
        let (first, before) = (self.0.front().copied().unwrap_or_default(), self.0.len());
        let read: Result<Share, String> = self.quantity("a share");
        let is_bare = before == self.0.len() + 1 && first.ends_with(|end: char| end.is_ascii_digit());
        // As in scenarios 0.01 is 1 %. Other tools mean 1 % by a 1, and a loss of 100 % looks like a path that is broken.
        if is_bare && read.as_ref().map_or(true, |share| *share >= Share::ONE) {
            let percent = quantity::parse(&format!("{first}%")).ok().filter(|share| *share <= Share::ONE);
            let meant = [percent, read.clone().ok()].into_iter().flatten();
            let meant: Vec<String> = meant.map(|share: Share| share.to_string().replace(' ', "")).collect();
            if !meant.is_empty() {
                return Err(format!("{first:?}: no unit; write {}", meant.join(" or ")));
            }
        }
        let share = read?;
        if share > Share::ONE {
            return Err(format!("{share} is more than all; 100 % is the most"));
        }
        Ok(share)
    }

    fn change(&mut self, word: &str) -> Result<Change, String> {
        Ok(match word {
            "rate" => Change::Rate(self.rate()?),
            "queue" => {
                let named = |word: &&str| Rule::WORDS.iter().find(|(name, _)| name == word);
                let rule = self.0.front().and_then(named).map(|(_, rule)| *rule);
                if rule.is_some() {
                    self.0.pop_front();
                } else if let Some(word) = self.0.front().filter(|word| **word != "none" && !self.has_number()) {
                    return Err(unknown("no queue", word, &QUEUES));
                }
                let said = rule.is_none() || self.has_number() || self.0.front() == Some(&"none");
                let rule = rule.unwrap_or_default();
                Change::Queue(rule, if said { self.queue()? } else { usual(rule) })
            }
            "overhead" => Change::Overhead(self.overhead()?),
            "loss" => Change::Loss(self.loss()?),
            "duplicate" => Change::Duplicate(self.share()?),
            "corrupt" => Change::Corrupt(self.share()?),
            "delay" => Change::Delay(self.time()?),
            "jitter" => {
                let time = self.time()?;
                let named = |word: &&str| SPREADS.iter().find(|(name, _)| name == word);
                let spread = self.0.front().and_then(named).map(|(_, spread)| *spread);
                if spread.is_some() {
                    self.0.pop_front();
                } else if let Some(word) = self.0.front().filter(|word| !SETTINGS.contains(word)) {
                    return Err(no_spread(word));
                }
                Change::Jitter(time, spread.unwrap_or_default())
            }
            "order" => match self.next() {
                Some("kept") => Change::Overtake(false),
                Some("free") => Change::Overtake(true),
                _ => return Err("write kept or free".to_owned()),
            },
            "reorder" => Change::Reorder(self.reorder()?),
            "state" => match self.next() {
                Some("down") => Change::Down(true),
                Some("up") => Change::Down(false),
                _ => return Err("write down or up".to_owned()),
            },
            "clear" => Change::Clear,
            other => return Err(unknown("no setting", other, &SETTINGS)),
        })
    }

    fn rate(&mut self) -> Result<Option<quantity::Rate>, String> {
        if self.next_if("none") {
            return Ok(None);
        }
        let rate: quantity::Rate = self.quantity("a rate")?;
        if rate.bits_per_second() == 0 {
            return Err(
                "nothing ever leaves a line of no rate; loss 100% lets nothing pass, and none is no limit".to_owned()
            );
        }
        Ok(Some(rate))
    }

    fn queue(&mut self) -> Result<Queue, String> {
        const PACKETS: [&str; 4] = ["packets", "packet", "units", "frames"];
        if self.next_if("none") {
            return Ok(Queue::Unlimited);
        }
        let number = self.0.front().and_then(|word| word.parse().ok());
        let unit = self.0.get(1).is_some_and(|word| PACKETS.contains(word));
        if let Some(number) = number.filter(|_| unit) {
            self.0.drain(..2);
            return Ok(Queue::Packets(number));
        }
        let size = self.quantity::<Octets>("a length");
        size.map(Queue::Octets).map_err(|why| {
            format!("{why}; or a number of packets such as 100 packets, or none, or fq-codel, codel or pie")
        })
    }

    fn overhead(&mut self) -> Result<Octets, String> {
        let size: Octets = self.quantity("a size")?;
        if size.count() > 65_535 {
            return Err(format!("{size} is too much; 65535 B is the most"));
        }
        Ok(size)
    }

    fn loss(&mut self) -> Result<Loss, String> {
        if self.next_if("none") {
            return Ok(Loss::None);
        }
        if !self.next_if("gilbert") {
            let share = self
                .share()
                .map_err(|why| format!("{why}; or none, or gilbert TO_BAD TO_GOOD as in gilbert 1% 30%"))?;
            return Ok(if share == Share::default() { Loss::None } else { Loss::Each(share) });
        }
        let (to_bad, to_good) = (self.share()?, self.share()?);
        let mut next = |otherwise| {
            if self.has_number() { self.share() } else { Ok(otherwise) }
        };
        let (bad, good) = (next(Share::ONE)?, next(Share::default())?);
        Ok(Loss::Gilbert { to_bad, to_good, bad, good })
    }

    fn reorder(&mut self) -> Result<Option<(Share, Reorder)>, String> {
        if self.next_if("none") {
            return Ok(None);
        }
        let share = self.share()?;
        if share == Share::default() && !matches!(self.0.front(), Some(&"by" | &"behind")) {
            return Ok(None);
        }
        let reorder = match self.next() {
            Some("by") => Reorder::By(self.time()?),
            Some("behind") => {
                let others: u64 = self.quantity("a number of packets")?;
                let others = u32::try_from(others).ok().filter(|n| *n > 0);
                let others = others.ok_or("a unit is held back behind one other at least")?;
                let time = if self.has_number() { self.time()? } else { Duration::from_secs(1) };
                Reorder::Behind(others, time)
            }
            _ => {
                return Err("write by a time, as in 1% by 5ms, or behind so many packets, as in 1% behind 3".to_owned());
            }
        };
        Ok(Some((share, reorder)))
    }
}
