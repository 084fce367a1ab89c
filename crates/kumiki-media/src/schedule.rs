//! Lines that change at given times, by a schedule of their own or by events.

use kumiki_graph::Instant;
use kumiki_link::{Carrier, Impairment, LineChange, Loss, Rate, SerialConfig};
use kumiki_settings::{BuildError, Duration, HasSettings as _, Key, Reader, Settings};

use super::frames::rates;
use super::is_named;

/// What changes of a line at a time, both ways.
#[derive(Clone, PartialEq, Debug, Default, Settings)]
pub struct Step {
    /// When, from the beginning of the run.
    #[setting(unset = "")]
    pub at: Duration,
    /// The rate from then on.
    /// From the first end, and from the second.
    #[setting(with = rate)]
    pub rate: Option<[u64; 2]>,
    /// The propagation, one way; none overtakes where it becomes less.
    #[setting(unset = "as before")]
    pub propagation: Option<Duration>,
    /// Chance of loss, of frames that arrive from then on.
    #[setting(share, unset = "as before")]
    pub loss: Option<f64>,
    /// Whether the line is there: frames that would arrive while it is not are lost. Hosts are not told.
    #[setting(unset = "as before")]
    pub up: Option<bool>,
    /// `loss` and `up` are of what travels towards this end alone.
    #[setting(text, expected = "an end of the line", unset = "both ways")]
    pub toward: Option<String>,
}

impl Step {
    /// Whether it says nothing that could change.
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self { rate: None, propagation: None, loss: None, up: None, .. })
    }

    /// A change that has no `toward`, where it is to be of one.
    pub const fn of_both_ways(&self) -> Option<&'static str> {
        match self {
            Self { toward: None, .. } => None,
            Self { rate: Some(_), .. } => Some("rate"),
            Self { propagation: Some(_), .. } => Some("propagation"),
            Self { .. } => None,
        }
    }
}

/// Reads the rates of a step.
fn rate(place: &mut Option<[u64; 2]>, reader: &Reader<'_>) -> Result<(), BuildError> {
    const MEANING: &str = "The rate from then on, or a list of that of what the first end sends and that of what the second does; with 0 b/s nothing is sent, and what comes waits. A frame that is on the line keeps its time.";
    *place = rates(&Key::new("rate", MEANING).unset("as before"), 0, reader)?;
    Ok(())
}

/// Reads the changes, which are in order.
pub(super) fn read(place: &mut Vec<Step>, reader: &Reader<'_>) -> Result<(), BuildError> {
    const EXPECTED: &str = "a list of changes, each such as { at = \"10 s\", rate = \"5 Mb/s\" }";
    // One that was there may be taken away by a list of none.
    if reader.peek("schedule").is_some_and(|it| matches!(it, kumiki_settings::Value::List(all) if all.is_empty())) {
        *place = Vec::new();
        return Ok(());
    }
    // The notation has numbered them.
    if let Some(found) = reader.peek("schedule").filter(|it| !matches!(it, kumiki_settings::Value::Table(_))) {
        return Err(reader.wrong("schedule", found, EXPECTED));
    }
    let mut steps: Vec<((usize, String), Step)> = Vec::new();
    reader.tables("schedule", "<number>", |name, reader| {
        let mut step = Step::default();
        step.read(reader)?;
        if !reader.is_set("at") && !reader.lists() {
            return Err(reader.missing("at", "a time such as \"10 s\""));
        }
        steps.push(((name.len(), name.to_owned()), step));
        Ok(())
    })?;
    if let Some((_, step)) = steps.iter().find(|(_, step)| step.is_empty())
        && !reader.lists()
    {
        let found = format!("{} alone", step.at);
        return Err(reader.wrong("schedule", &found, "a change beside it: rate, propagation, loss or up"));
    }
    if let Some(key) = steps.iter().find_map(|(_, step)| step.of_both_ways()) {
        return Err(reader.wrong(
            "schedule",
            &format!("a {key} toward one end"),
            "loss and up alone, which have a direction; rates are a list of both",
        ));
    }
    // In the order of their numbers.
    steps.sort_by(|(one, _), (other, _)| one.cmp(other));
    let late = steps.windows(2).find_map(|pair| match pair {
        [(_, one), (_, next)] if next.at <= one.at => Some(next.at),
        _ => None,
    });
    if let Some(at) = late.filter(|_| !reader.lists()) {
        return Err(reader.wrong("schedule", &at, "times each later than the one before"));
    }
    *place = steps.into_iter().map(|(_, step)| step).collect();
    Ok(())
}

/// The changes of a plain line that begins as `config` has it in each direction and whose clock is `ppm` fast.
pub(super) fn of_line(steps: &[Step], mut config: [SerialConfig; 2], ppm: i32) -> Vec<(Instant, LineChange)> {
    let (mut changes, mut still) = (Vec::new(), [false; 2]);
    for (number, step) in steps.iter().enumerate() {
        if step.rate.is_none() && step.propagation.is_none() {
            continue;
        }
        let later = steps.get(number + 1..).unwrap_or_default();
        let mut still_until = [None; 2];
        for (end, ((config, still), until)) in config.iter_mut().zip(&mut still).zip(&mut still_until).enumerate() {
            let bits = |step: &Step| step.rate.and_then(|rates| rates.get(end).copied());
            *still = bits(step).map_or(*still, |bits| bits == 0);
            if let (Some(bits), Carrier::Plain { rate, .. }) = (bits(step).filter(|_| !*still), &mut config.carrier) {
                *rate = Rate::bits_per_second(bits).off_by(ppm);
            }
            config.propagation = step.propagation.unwrap_or(config.propagation);
            let moves = || later.iter().find(|it| bits(it).is_some_and(|bits| bits > 0));
            *until = still.then(|| moves().map_or(Instant::from_nanos(u64::MAX), |it| Instant::ZERO + it.at));
        }
        changes.push((Instant::ZERO + step.at, LineChange { config, still_until }));
    }
    changes
}

/// When a line is not there by `steps`, towards `end` where that is asked.
pub(super) fn outages(steps: &[Step], end: Option<&str>) -> Vec<(Instant, Instant)> {
    let (mut all, mut down) = (Vec::new(), None);
    let steps = steps.iter().filter(|step| is_toward(step, end));
    for (at, up) in steps.filter_map(|step| Some((Instant::ZERO + step.at, step.up?))) {
        match (down, up) {
            (None, false) => down = Some(at),
            (Some(from), true) => {
                all.push((from, at));
                down = None;
            }
            (None, true) | (Some(_), false) => {}
        }
    }
    all.extend(down.map(|from| (from, Instant::from_nanos(u64::MAX))));
    all
}

/// Whether a step is of what travels towards `end`.
fn is_toward(step: &Step, end: Option<&str>) -> bool {
    step.toward.as_deref().zip(end).is_none_or(|(toward, end)| is_named(toward, end))
}

/// What goes wrong towards `end`, and its changes: `own` and what `steps` add; `None` where nothing ever does.
pub(super) fn of_path(
    steps: &[Step],
    own: Option<Impairment>,
    end: &str,
) -> Option<(Impairment, Vec<(Instant, Impairment)>)> {
    let is_own = own.is_some();
    let mut base = own.unwrap_or_default();
    base.down.extend(outages(steps, Some(end)));
    let losses = steps.iter().filter(|step| is_toward(step, Some(end))).filter_map(|step| {
        let loss = step.loss.map(|p| if p > 0.0 { Loss::Independent(p) } else { Loss::None })?;
        Some((Instant::ZERO + step.at, Impairment { loss, ..base.clone() }))
    });
    let losses: Vec<_> = losses.collect();
    (is_own || !base.down.is_empty() || !losses.is_empty()).then_some((base, losses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_is_like_at_each_step_is_what_was_said_last() {
        let s = Duration::from_secs;
        let at = |seconds| Step { at: s(seconds), ..Step::default() };
        let steps = [
            Step { rate: Some([5; 2]), ..at(1) },
            Step { loss: Some(0.5), ..at(2) },
            Step { rate: Some([0; 2]), ..at(3) },
            Step { propagation: Some(s(9)), up: Some(false), ..at(4) },
            Step { rate: Some([7; 2]), up: Some(true), loss: Some(0.0), ..at(5) },
            Step { up: Some(false), ..at(6) },
        ];
        let plain = |bits, propagation| {
            let carrier = Carrier::Plain { rate: Rate::bits_per_second(bits), overhead: 3 };
            SerialConfig { carrier, propagation, say_sent: true }
        };
        // Another rate in the other direction is what it was until both have one.
        let (mut others, mut found) = (Vec::new(), Vec::new());
        for (at, change) in of_line(&steps[1..], [plain(2, s(1)), plain(4, s(1))], 0) {
            others.push((at.as_nanos() / 1_000_000_000, change.config));
        }
        let both = |bits| [plain(bits, s(9)); 2];
        assert_eq!(
            others,
            [(3, [plain(2, s(1)), plain(4, s(1))]), (4, [plain(2, s(9)), plain(4, s(9))]), (5, both(7))]
        );
        for (at, change) in of_line(&steps, [plain(2, s(1)); 2], 0) {
            assert_eq!(change.config[0], change.config[1]);
            assert_eq!(change.still_until[0], change.still_until[1]);
            found.push((at.as_nanos() / 1_000_000_000, change.config[0], change.still_until[0]));
        }
        let until = Some(Instant::ZERO + s(5));
        let expected = [
            (1, plain(5, s(1)), None),
            (3, plain(5, s(1)), until),
            (4, plain(5, s(9)), until),
            (5, plain(7, s(9)), None),
        ];
        assert_eq!(found, expected);
        let (base, losses) = of_path(&steps, None, "a.l0").unwrap();
        let t = |seconds| Instant::ZERO + s(seconds);
        assert_eq!(base.down, [(t(4), t(5)), (t(6), Instant::from_nanos(u64::MAX))]);
        assert_eq!(base.loss, Loss::None);
        assert_eq!(
            losses.iter().map(|(at, it)| (*at, it.loss)).collect::<Vec<_>>(),
            [(t(2), Loss::Independent(0.5)), (t(5), Loss::None)]
        );
        assert!(losses.iter().all(|(_, it)| it.down == base.down));
        assert_eq!(of_path(&[Step { rate: Some([1; 2]), ..at(1) }], None, "a.l0"), None);
        assert!(of_path(&[], Some(Impairment::default()), "a.l0").is_some());
        let one_way = [Step { up: Some(false), loss: Some(0.1), toward: Some("b".to_owned()), ..at(1) }];
        assert_eq!(of_path(&one_way, None, "a.l0"), None);
        let (base, losses) = of_path(&one_way, None, "b.l0").unwrap();
        assert_eq!((base.down.len(), losses.len()), (1, 1));
    }

    #[test]
    fn each_direction_has_a_rate_of_its_own_and_stands_still_by_itself() {
        let s = Duration::from_secs;
        let plain = |bits| {
            let carrier = Carrier::Plain { rate: Rate::bits_per_second(bits), overhead: 0 };
            SerialConfig { carrier, propagation: s(0), say_sent: true }
        };
        let at = |seconds, rate| Step { at: s(seconds), rate: Some(rate), ..Step::default() };
        let steps = [at(1, [5, 0]), at(2, [0, 0]), at(3, [0, 7]), at(4, [6, 8])];
        let until = |seconds| Some(Instant::ZERO + s(seconds));
        let expected = [
            ([plain(5), plain(4)], [None, until(3)]),
            ([plain(5), plain(4)], [until(4), until(3)]),
            ([plain(5), plain(7)], [until(4), None]),
            ([plain(6), plain(8)], [None; 2]),
        ];
        let found = of_line(&steps, [plain(2), plain(4)], 0);
        assert_eq!(found.into_iter().map(|(_, it)| (it.config, it.still_until)).collect::<Vec<_>>(), expected);
    }
}
