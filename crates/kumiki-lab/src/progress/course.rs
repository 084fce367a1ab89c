//! What is told of a long command, and the time that it will still take, without a clock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::{BETWEEN_LINES, Cost, Step};

/// What a line says.
#[derive(Clone, Debug)]
pub(super) struct ProgressLine {
    what: String,
    total: u64,
    done: u64,
    doing: String,
    last: Option<Duration>,
    /// What is known of each group of steps.
    groups: BTreeMap<usize, Group>,
    /// How many steps are in progress at a time.
    jobs: usize,
    /// The estimate that was told last, and when it was made.
    told: Option<(Duration, Duration)>,
}

/// Steps that cost about the same for their weight.
#[derive(Clone, Copy, Default, Debug)]
struct Group {
    steps: f64,
    weight: f64,
    done_weight: f64,
    /// In seconds.
    spent: f64,
}

/// So long, in seconds, a new estimate takes until it is most (63 %) of what is told; the rest is the one before, as it
/// has gone down since. Points cost very unlike times, and one estimate alone would leap with each.
const PATIENCE: f64 = 15.0;

/// The group of steps that are all alike.
const ALIKE: Cost = Cost { group: 0, weight: 1.0 };

impl ProgressLine {
    pub(super) fn new(what: &str, total: u64) -> Self {
        let mut course = Self {
            what: what.to_owned(),
            total,
            done: 0,
            doing: String::new(),
            last: None,
            groups: BTreeMap::new(),
            jobs: 1,
            told: None,
        };
        let steps = float(total);
        course.groups.insert(ALIKE.group, Group { steps, weight: steps, ..Group::default() });
        course
    }

    /// Where it stands; the time left is the caller's to add.
    pub(super) fn step(&self) -> Step<'_> {
        Step { done: self.done, total: self.total, what: &self.doing, left: None }
    }

    pub(super) const fn steps(&self) -> u64 {
        self.done
    }

    pub(super) fn doing(&mut self, what: &str) {
        what.clone_into(&mut self.doing);
    }

    /// Steps with these costs are all there are, so many of them in progress at a time.
    pub(super) fn foresee(&mut self, costs: impl IntoIterator<Item = Cost>, jobs: usize) {
        self.groups.clear();
        self.jobs = jobs.max(1);
        for cost in costs {
            let group = self.groups.entry(cost.group).or_default();
            group.steps += 1.0;
            group.weight += cost.weight;
        }
    }

    /// A step is done that took so long.
    pub(super) fn done(&mut self, cost: Cost, took: Duration) {
        self.done = self.done.saturating_add(1);
        let group = self.groups.entry(cost.group).or_default();
        group.done_weight += cost.weight;
        group.spent += took.as_secs_f64();
    }

    /// So many steps are done that are all alike, and took all the time there was.
    pub(super) fn advance(&mut self, steps: u64, elapsed: Duration) {
        self.done = self.done.saturating_add(steps);
        let group = self.groups.entry(ALIKE.group).or_default();
        group.done_weight = float(self.done);
        group.spent = elapsed.as_secs_f64();
    }

    /// The line to print once `elapsed` has passed since the start, if it is time for one. The last step has none, as
    /// [`ProgressLine::last_line`] follows.
    pub(super) fn line(&mut self, elapsed: Duration) -> Option<String> {
        if self.done >= self.total {
            return None;
        }
        self.further_line(elapsed)
    }

    /// As [`ProgressLine::line`], also after the last step.
    pub(super) fn further_line(&mut self, elapsed: Duration) -> Option<String> {
        let due = self.last.unwrap_or(Duration::ZERO) + BETWEEN_LINES;
        if elapsed < due {
            return None;
        }
        self.last = Some(elapsed);
        let percent = self.done.saturating_mul(100).checked_div(self.total).unwrap_or(0);
        let mut line = format!("{}: {} of {} ({percent} %), {}", self.what, self.done, self.total, spoken(elapsed));
        if let Some(left) = self.estimate(elapsed).filter(|_| self.done < self.total) {
            let _ = write!(line, ", ETA {}", spoken(left));
        }
        if !self.doing.is_empty() {
            let _ = write!(line, "; {}", self.doing);
        }
        Some(line)
    }

    /// The line to print where some steps were done before this began, unless that is all of them.
    pub(super) fn first_line(&mut self) -> Option<String> {
        let left = self.estimate(Duration::ZERO).filter(|_| self.done < self.total)?;
        let percent = self.done.saturating_mul(100).checked_div(self.total).unwrap_or(0);
        Some(format!("{}: {} of {} ({percent} %) before, ETA {}", self.what, self.done, self.total, spoken(left)))
    }

    pub(super) fn last_line(&self, elapsed: Duration) -> String {
        if self.done >= self.total {
            format!("{}: {} done in {}", self.what, self.done, spoken(elapsed))
        } else {
            format!("{}: stopped after {} of {}, {}", self.what, self.done, self.total, spoken(elapsed))
        }
    }

    /// What stands beside a bar: the time left, and what is being done.
    pub(super) fn beside(&self) -> String {
        let mut text = String::new();
        if let Some((left, _)) = self.told.filter(|_| self.done < self.total) {
            let _ = write!(text, ", ETA {}", spoken(left));
        }
        if !self.doing.is_empty() {
            let _ = write!(text, "; {}", self.doing);
        }
        text
    }

    /// The time left, smoothed: it goes down with the clock unless what is done says otherwise for a while.
    pub(super) fn estimate(&mut self, elapsed: Duration) -> Option<Duration> {
        let fresh = self.left()?;
        let told = match self.told {
            Some((before, at)) => {
                let gone = elapsed.saturating_sub(at).as_secs_f64();
                let before = (before.as_secs_f64() - gone).max(0.0);
                let kept = (-gone / PATIENCE).exp();
                before * kept + fresh * (1.0 - kept)
            }
            None => fresh,
        };
        let told = Duration::try_from_secs_f64(told).ok()?;
        self.told = Some((told, elapsed));
        Some(told)
    }

    /// The seconds left, if the rest of each group costs for its weight what its steps have cost so far. A group of
    /// which little is done is expected to be like all together: that counts as one step of it. So what is told does
    /// not leap when a group begins that costs a hundred times another.
    fn left(&self) -> Option<f64> {
        let groups = || self.groups.values();
        let spent: f64 = groups().map(|it| it.spent).sum();
        let weight: f64 = groups().map(|it| it.done_weight).sum();
        if weight <= 0.0 {
            return None;
        }
        let left = groups().map(|it| {
            let one = if it.steps > 0.0 { it.weight / it.steps } else { 0.0 };
            let known = it.done_weight + one;
            let cost = if known > 0.0 { (it.spent + one * spent / weight) / known } else { 0.0 };
            (it.weight - it.done_weight).max(0.0) * cost
        });
        let at_a_time = self.total.saturating_sub(self.done).clamp(1, u64::try_from(self.jobs).unwrap_or(1));
        Some(left.sum::<f64>() / float(at_a_time))
    }
}

#[expect(clippy::cast_precision_loss, reason = "what is told to a person is not that exact")]
const fn float(n: u64) -> f64 {
    n as f64
}

/// 8 s, 2 min 5 s, 1 h 3 min.
pub(crate) fn spoken(time: Duration) -> String {
    let s = time.as_secs();
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, 0) if time.subsec_millis() > 0 => format!("{} ms", time.subsec_millis()),
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn lines_come_at_most_every_five_seconds_and_estimate_the_rest() {
        let mut course = ProgressLine::new("sweep", 55);
        course.advance(1, seconds(1));
        assert_eq!(course.line(seconds(1)), None);
        course.advance(10, seconds(6));
        course.doing("fig7");
        assert_eq!(course.line(seconds(6)).as_deref(), Some("sweep: 11 of 55 (20 %), 6 s, ETA 24 s; fig7"));
        course.advance(1, seconds(10));
        assert_eq!(course.line(seconds(10)), None);
        course.advance(10, seconds(3_900));
        // If it goes on as it did; after so long nothing is left of what was told before.
        assert_eq!(
            course.line(seconds(3_900)).as_deref(),
            Some("sweep: 22 of 55 (40 %), 1 h 5 min, ETA 1 h 37 min; fig7")
        );
        course.advance(33, seconds(8_000));
        assert_eq!(course.line(seconds(8_000)), None, "the last line follows");
        assert_eq!(course.last_line(seconds(125)), "sweep: 55 done in 2 min 5 s");
    }

    /// Of four steps of 10 s two were done before; two are in progress at a time.
    #[test]
    fn what_was_done_before_tells_how_long_the_rest_takes() {
        let cost = Cost { group: 0, weight: 5.0 };
        let mut course = ProgressLine::new("run", 4);
        course.foresee([cost; 4], 2);
        assert_eq!(course.first_line(), None);
        for _ in 0..2 {
            course.done(cost, seconds(10));
        }
        assert_eq!(course.first_line().as_deref(), Some("run: 2 of 4 (50 %) before, ETA 10 s"));
        for _ in 0..2 {
            course.done(cost, seconds(10));
        }
        assert_eq!(course.first_line(), None, "the last line follows");
    }

    #[test]
    fn nothing_done_has_no_estimate_and_an_early_end_is_said() {
        let mut course = ProgressLine::new("sweep", 4);
        assert_eq!(course.line(seconds(6)).as_deref(), Some("sweep: 0 of 4 (0 %), 6 s"));
        assert_eq!(course.last_line(Duration::from_millis(250)), "sweep: stopped after 0 of 4, 250 ms");
        assert_eq!(ProgressLine::new("run", 0).last_line(Duration::ZERO), "run: 0 done in 0 s");
    }

    /// A page of results takes its time, too.
    #[test]
    fn what_is_done_after_the_last_step_is_told() {
        let mut course = ProgressLine::new("run", 1);
        course.advance(1, seconds(4));
        course.doing("writing the page");
        assert_eq!(course.further_line(seconds(4)), None);
        assert_eq!(course.further_line(seconds(7)).as_deref(), Some("run: 1 of 1 (100 %), 7 s; writing the page"));
        assert_eq!(course.further_line(seconds(8)), None);
        assert_eq!(course.beside(), "; writing the page");
    }

    /// The lines of a command whose groups have so many steps with such a cost in seconds and such a weight: how long
    /// it had run, what was told to be left, and what was left.
    fn told(groups: &[(u32, f64, f64)], jobs: u32) -> Vec<(f64, f64, f64)> {
        let mut steps = Vec::new();
        for (group, (count, seconds, weight)) in groups.iter().enumerate() {
            // Within a group, too, no two cost the same.
            let costs = (0..*count).map(|step| seconds * (0.5 + f64::from(step * 7 % 11) / 10.0));
            steps.extend(costs.map(|seconds| (Cost { group, weight: *weight }, seconds)));
        }
        let mut course = ProgressLine::new("sweep", u64::try_from(steps.len()).unwrap());
        course.foresee(steps.iter().map(|(cost, _)| *cost), usize::try_from(jobs).unwrap());
        let all = steps.iter().map(|(_, seconds)| seconds).sum::<f64>() / f64::from(jobs);
        let (mut elapsed, mut lines) = (0.0, Vec::new());
        for (cost, seconds) in steps {
            elapsed += seconds / f64::from(jobs);
            course.done(cost, Duration::from_secs_f64(seconds));
            let now = Duration::from_secs_f64(elapsed);
            if course.line(now).is_some() {
                let (told, _) = course.told.unwrap();
                lines.push((elapsed, told.as_secs_f64(), all - elapsed));
            }
        }
        lines
    }

    /// Of one group many points that cost little, of another few that cost a hundred times as much, which their virtual
    /// time says by half.
    #[test]
    fn an_estimate_weighs_what_is_left() {
        let groups = [(300, 0.1, 8.0), (40, 10.0, 400.0), (200, 0.2, 20.0), (30, 5.0, 300.0)];
        let lines = told(&groups, 2);
        for (elapsed, told, left) in &lines {
            let ratio = (told + 20.0) / (left + 20.0);
            assert!((0.5..2.0).contains(&ratio), "after {elapsed}: {told} told, {left} left");
        }
        // Steps alone would say after the first 290 that nearly all is done.
        assert!(lines.len() > 30);
    }

    /// What was foreseen says that all points are alike; what has been done of a group says more.
    #[test]
    fn a_group_that_has_begun_is_judged_by_itself() {
        let lines = told(&[(300, 0.1, 1.0), (60, 10.0, 1.0)], 1);
        let late = lines.iter().filter(|(elapsed, ..)| *elapsed > 30.0 + 150.0);
        for (elapsed, told, left) in late {
            let ratio = (told + 20.0) / (left + 20.0);
            assert!((0.8..1.25).contains(&ratio), "after {elapsed}: {told} told, {left} left");
        }
    }

    /// Where a guess is wrong by far, what is told goes over to what is so once, and not to and fro.
    #[test]
    fn an_estimate_does_not_flip() {
        // The second group costs a hundred times what was foreseen, the third a hundredth.
        let lines = told(&[(200, 0.5, 10.0), (50, 10.0, 2.0), (100, 0.05, 100.0), (50, 2.0, 40.0)], 2);
        let ends: Vec<f64> = lines.iter().map(|(elapsed, told, _)| elapsed + told).collect();
        let turns = ends.windows(3).filter(|it| (it[1] - it[0]) * (it[2] - it[1]) < 0.0);
        // A turn that is to be seen.
        let seen =
            turns.filter(|it| (it[1] - it[0]).abs() > 0.05 * it[0] && (it[2] - it[1]).abs() > 0.05 * it[0]).count();
        assert!(seen <= 1, "{ends:.0?}");
        for pair in ends.windows(2) {
            assert!(pair[1] < 1.5 * pair[0] && pair[0] < 1.5 * pair[1], "{ends:.0?}");
        }
    }

    #[test]
    fn what_was_known_before_counts_for_what_is_left() {
        let mut course = ProgressLine::new("sweep", 10);
        course.foresee((0..10).map(|_| Cost { group: 3, weight: 2.0 }), 1);
        for _ in 0..4 {
            course.done(Cost { group: 3, weight: 2.0 }, seconds(5));
        }
        assert_eq!(course.line(seconds(5)).as_deref(), Some("sweep: 4 of 10 (40 %), 5 s, ETA 30 s"));
    }
}
