//! Lines of text that change a line of the scenario while it runs, or ask something: as [`kumiki_delay::Command`] has
//! them for a single path.
//!
//! | | |
//! |---|---|
//! | Form | `wan rate 5Mb/s`, or `wan toward client loss 1%` for one direction; the settings are those of `kumiki delay` |
//! | All or nothing | a line with a mistake changes nothing, and the answer says what would be right |
//! | Delay | is all that a line's propagation and its `impair` wait |
//! | Left out | rings, switches, power: [events](kumiki_lab::scenario::Event) of the file have these |

use core::fmt::Write as _;
use std::collections::BTreeMap;

use kumiki_config::quantity::{Octets, Rate, Share};
use kumiki_delay::command::{near, timed};
use kumiki_delay::settings::{Loss, Queue, Reorder, Settings};
use kumiki_delay::{Change, Instant, SETTINGS_HELP};
use kumiki_lab::experiment::{LineState, LineUpdate, LiveLine, LiveWorld};
use kumiki_link::{Hold, Impairment, Loss as LinkLoss};
use kumiki_media::{Rule, Step};
use serde_json::{Value, json};

/// Whether what is in `schedule` can be done to the lines of `world`.
///
/// # Errors
/// What is wrong with a line, and at what time it stands.
pub fn judge(world: &LiveWorld, schedule: &[(Instant, LiveCommand)]) -> Result<(), String> {
    let lines = Lines::of(world);
    schedule.iter().try_for_each(|(at, command)| {
        let at = at.saturating_since(Instant::ZERO);
        lines.judge(world, command).map_err(|why| format!("at {at}: {why}"))
    })
}

/// What the lines are, for people.
#[must_use]
pub fn lines_help() -> String {
    format!(
        "\
LINE [toward END] SETTING...
                 changes a line of the scenario both ways, or what travels toward
                 one of its ends: a host or switch, or host.device; link.NAME is a
                 line that is called as one of the words below
stats [json]     what has crossed so far
settings         how all lines are set
quit             ends, as Ctrl-C does
help             this

{SETTINGS_HELP}

`rate`, `queue`, `overhead` and `delay` are of lines that have no rate or form of their own
(point-to-point). At the beginning, and after `clear`, a line is as the file has it. What its
schedule or an event says later holds from then on."
    )
}

/// What one line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LiveCommand {
    /// Nothing: an empty line or a comment.
    Nothing,
    /// Changes a line of the scenario, both ways or toward one end.
    Set {
        /// Its name.
        line: String,
        /// Toward which end.
        toward: Option<String>,
        /// How, in this order.
        changes: Vec<Change>,
    },
    /// What has crossed; as JSON where that is said.
    Stats {
        /// As JSON.
        json: bool,
    },
    /// How all lines are set.
    Settings,
    /// Ends.
    Quit,
    /// Says what lines there are.
    Help,
}

impl LiveCommand {
    /// Reads one line. Whether there is such a line in the scenario is not looked at.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what would be right.
    pub fn parse(line: &str) -> Result<Self, String> {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else {
            return Ok(Self::Nothing);
        };
        let rest: Vec<&str> = words.collect();
        let command = match (first, rest.as_slice()) {
            ("stats", ["json"]) => return Ok(Self::Stats { json: true }),
            ("stats", _) => Self::Stats { json: false },
            ("settings", _) => Self::Settings,
            ("quit", _) => Self::Quit,
            ("help", _) => Self::Help,
            (_, ["toward"]) => return Err(format!("toward which end of {first}?")),
            (_, ["toward", end, settings @ ..]) => return Self::set(first, Some(end), settings),
            (_, settings) => return Self::set(first, None, settings),
        };
        match rest.first() {
            Some(word) => Err(format!("`{word}` is too much behind `{first}`")),
            None => Ok(command),
        }
    }

    fn set(line: &str, toward: Option<&str>, settings: &[&str]) -> Result<Self, String> {
        let changes = Change::parse_all(&settings.join(" "))?;
        let line = line.strip_prefix("link.").unwrap_or(line).to_owned();
        Ok(Self::Set { line, toward: toward.map(str::to_owned), changes })
    }

    /// Reads a line of a schedule: a time since the beginning, such as `10s`, and a line as above.
    ///
    /// # Errors
    /// As [`LiveCommand::parse`].
    pub fn parse_timed(line: &str) -> Result<Option<(Instant, Self)>, String> {
        let Some((at, rest)) = timed(line)? else {
            return Ok(None);
        };
        let command = Self::parse(&rest)?;
        if command == Self::Nothing {
            return Err("a line follows the time, as in 10s wan delay 100ms".to_owned());
        }
        Ok(Some((at, command)))
    }
}

/// How the lines of a world are set.
pub(super) struct Lines {
    /// At first and now, by line and by the end that is travelled to.
    all: BTreeMap<String, [(Settings, Settings); 2]>,
}

impl Lines {
    pub(super) fn of(world: &LiveWorld) -> Self {
        let of = |line: &LiveLine| {
            [0, 1].map(|end| {
                let first = settings_of(&line.state(end));
                (first, first)
            })
        };
        Self { all: world.lines().iter().map(|(name, line)| (name.clone(), of(line))).collect() }
    }

    /// How all are set, each line such as sets it so.
    pub(super) fn settings(&self, world: &LiveWorld, json: bool) -> String {
        let (mut text, mut told) = (String::new(), serde_json::Map::new());
        for (name, ways) in &self.all {
            let ends = world.lines().get(name).map(LiveLine::ends);
            for (end, (_, settings)) in ends.into_iter().flatten().zip(ways) {
                let _ = writeln!(text, "{name} toward {end} {settings}");
                let line = told.entry(name).or_insert_with(|| json!({}));
                if let Value::Object(line) = line {
                    line.insert(end.clone(), settings.to_string().into());
                }
            }
        }
        if json { json!({ "event": "settings", "lines": told }).to_string() } else { text }
    }

    /// Whether `command` could be carried out.
    ///
    /// # Errors
    /// What is wrong with it.
    fn judge(&self, world: &LiveWorld, command: &LiveCommand) -> Result<(), String> {
        if let LiveCommand::Set { line, toward, changes } = command {
            self.updates(world, (line, toward.as_deref()), changes)?;
        }
        Ok(())
    }

    /// Changes `line`, from the present time of the world on.
    ///
    /// # Errors
    /// What is wrong; then nothing is changed.
    pub(super) fn set(
        &mut self,
        world: &mut LiveWorld,
        (line, toward): (&str, Option<&str>),
        changes: &[Change],
    ) -> Result<(), String> {
        for (end, settings, update) in self.updates(world, (line, toward), changes)? {
            world.change_line(line, end, update);
            if let Some((_, now)) = self.all.get_mut(line).and_then(|ways| ways.get_mut(end)) {
                *now = settings;
            }
        }
        Ok(())
    }

    /// How each way of `line` that is meant would be set, and what changes for that.
    fn updates(
        &self,
        world: &LiveWorld,
        (name, toward): (&str, Option<&str>),
        changes: &[Change],
    ) -> Result<Vec<(usize, Settings, LineUpdate)>, String> {
        let (Some(line), Some(ways)) = (world.lines().get(name), self.all.get(name)) else {
            let known: Vec<&str> = self.all.keys().map(String::as_str).collect();
            return Err(match known.as_slice() {
                [] => format!("`{name}` is no line: the scenario has none"),
                known => format!("`{name}` is no line; there are {}{}", known.join(", "), near(name, known)),
            });
        };
        let end = toward.map(|toward| line.end(toward)).transpose().map_err(|fault| format!("{name}: {fault}"))?;
        let mut updates = Vec::new();
        for (number, (first, now)) in ways.iter().enumerate().filter(|(number, _)| end.is_none_or(|end| end == *number))
        {
            let mut settings = *now;
            for change in changes {
                if *change == Change::Clear {
                    settings = *first;
                } else {
                    change.apply(&mut settings);
                }
            }
            let update = update((line, number), (*first, *now, settings)).map_err(|why| format!("{name}: {why}"))?;
            updates.push((number, settings, update));
        }
        Ok(updates)
    }
}

/// From how the way to an end of `line` is set `now` to how it is `then`; `first` is how the file has it.
fn update(
    (line, end): (&LiveLine, usize),
    (first, now, then): (Settings, Settings, Settings),
) -> Result<LineUpdate, String> {
    if first.rate.is_some() && then.rate.is_none() {
        return Err("rate: a line of a scenario has one; write such as rate 1Gb/s".to_owned());
    }
    let rate = then.rate.filter(|_| then.rate != now.rate).map(Rate::bits_per_second);
    let framing = u32::try_from(then.overhead.count()).unwrap_or(u32::MAX);
    let framing = (then.overhead != now.overhead).then_some(framing);
    let propagation = (then.delay != now.delay).then_some(then.delay);
    let waits = |it: &Settings| (it.rule, it.queue);
    let has_queue = waits(&then) != waits(&now);
    let up = (then.is_down != now.is_down).then_some(!then.is_down);
    let step = Step { rate: rate.map(|rate| [rate; 2]), propagation, up, ..Step::default() };
    line.judge(&step, has_queue || framing.is_some()).map_err(|fault| fault.to_string())?;
    let discipline = has_queue.then(|| {
        // Of what the file says more than these words do.
        if waits(&then) == waits(&first) { line.discipline(end) } else { then.discipline(line.seed()) }
    });
    let mut impairment = line.state(end).impairment;
    then.impair(&mut impairment);
    if propagation.is_some() {
        impairment.delay = kumiki_graph::Duration::ZERO;
    }
    Ok(LineUpdate { rate, framing, propagation, discipline, impairment })
}

/// What the way to an end is like, in the words of a line of text.
fn settings_of(state: &LineState) -> Settings {
    let LineState { rate, framing, propagation, queue, impairment } = state;
    let Impairment { loss, duplicate, corrupt, delay, jitter, spread, overtake, hold, .. } = impairment;
    let rule = queue.managed.queue;
    let usual = if rule == Rule::FqCodel { Queue::Packets(10_240) } else { Queue::Unlimited };
    Settings {
        rate: rate.map(Rate::from_bits_per_second),
        queue: queue.queue_frames.map_or(usual, |frames| Queue::Packets(frames.into())),
        rule,
        overhead: Octets::new((*framing).into()),
        loss: match *loss {
            LinkLoss::None => Loss::None,
            LinkLoss::Independent(share) => Loss::Each(Share::from_f64(share)),
            LinkLoss::Gilbert { to_bad, to_good, good, bad } => Loss::Gilbert {
                to_bad: Share::from_f64(to_bad),
                to_good: Share::from_f64(to_good),
                bad: Share::from_f64(bad),
                good: Share::from_f64(good),
            },
        },
        duplicate: Share::from_f64(*duplicate),
        corrupt: Share::from_f64(*corrupt),
        delay: *propagation + *delay,
        jitter: *jitter,
        spread: *spread,
        overtake: *overtake,
        reorder: hold.map(|(share, hold)| {
            let reorder = match hold {
                Hold::Time(time) => Reorder::By(time),
                Hold::Followers(units, time) => Reorder::Behind(units, time),
            };
            (Share::from_f64(share), reorder)
        }),
        is_down: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_line_and_perhaps_an_end() {
        let set = |line: &str, toward: Option<&str>, settings: &str| {
            let changes = Change::parse_all(settings).unwrap();
            Ok(LiveCommand::Set { line: line.to_owned(), toward: toward.map(str::to_owned), changes })
        };
        for (line, read) in [
            ("", Ok(LiveCommand::Nothing)),
            ("  # nothing", Ok(LiveCommand::Nothing)),
            ("wan rate 5 Mb/s delay 20ms", set("wan", None, "rate 5Mb/s delay 20ms")),
            ("wan toward client.l0 loss 1% # bad", set("wan", Some("client.l0"), "loss 1%")),
            ("link.stats state down", set("stats", None, "state down")),
            ("stats json", Ok(LiveCommand::Stats { json: true })),
            ("settings", Ok(LiveCommand::Settings)),
        ] {
            assert_eq!(LiveCommand::parse(line), read, "{line}");
        }
        for (line, part) in [
            ("stats all", "`all` is too much behind `stats`"),
            ("wan", "nothing is set"),
            ("wan toward", "toward which end of wan"),
            ("wan toward client", "nothing is set"),
            ("wan dely 5ms", "try delay"),
            ("wan state on", "state: write down or up"),
        ] {
            let said = LiveCommand::parse(line).unwrap_err();
            assert!(said.contains(part), "{line}: {said}");
        }
        let later = LiveCommand::parse_timed("2 s wan loss none").unwrap().unwrap();
        assert_eq!(later.0, Instant::from_nanos(2_000_000_000));
        assert!(LiveCommand::parse_timed("10s").unwrap_err().contains("10s wan delay 100ms"));
    }
}
