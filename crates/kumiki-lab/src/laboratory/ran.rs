//! A point that has been run: whether that is a result, what is told of it, and what its rows have of the whole run.

use super::{WarmUp, notes, queues, rows};
use crate::experiment::{ControlShare, Run, WindowUse, clocks};
use crate::reproduce::Failure;
use crate::rows::{HALF_WIDTH, Row, WARM_UP};
use crate::scenario::Point;
use crate::stats::{self, Level};

/// A point, and a run of it.
pub(super) struct RanPoint<'a> {
    pub(super) point: &'a Point,
    pub(super) run: &'a Run,
    /// Where its end was looked for.
    pub(super) warm_up: Option<WarmUp>,
}

impl RanPoint<'_> {
    /// The figures mean something.
    ///
    /// # Errors
    /// In words, why they do not.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if let Some(standstill) = &self.run.standstill {
            return Err(standstill.to_string().into());
        }
        match self.run.measured.total.wrong {
            Some(position) => Err(format!("octet {position} arrived wrong").into()),
            None => Ok(()),
        }
    }

    /// Why the run is no result, where it is none.
    pub(super) fn failed(&self) -> Option<String> {
        let why = notes::failed(&self.run.measured)?;
        // What happened to hosts and lines may be why.
        let happened = notes::happened(&self.point.scenario, self.run.ended);
        Some(core::iter::once(why).chain(happened).collect::<Vec<_>>().join("; "))
    }

    /// What a reader should know of it, beside why it has `failed`.
    pub(super) fn notes(&self, failed: Option<&str>) -> Vec<String> {
        let (measured, scenario) = (&self.run.measured, &self.point.scenario);
        let mut notes = notes::notes(measured, scenario);
        notes.extend(notes::at_other_times(measured, scenario));
        notes.extend(rows::came_from_queues(self.point, measured));
        notes.extend(notes::without_power(measured));
        notes.extend(queues::endless(measured, scenario));
        notes.extend(queues::in_phase(measured, scenario));
        notes.extend(queues::behind_others(measured, scenario));
        notes.extend(self.warm_up.map(|found| found.to_string()));
        notes.extend(notes::happened(scenario, self.run.ended));
        if measured.total.goodput_mbps == 0.0 && measured.total.echoes.is_none() {
            notes.push("nothing arrived while it was measured".to_owned());
        }
        if let Some(why) = failed {
            notes.retain(|note| !notes::is_told(note, why));
        }
        notes
    }

    /// What `[report]` asks to be told.
    pub(super) fn notes_asked_for(&self) -> Vec<String> {
        let (measured, report) = (&self.run.measured, &self.point.scenario.report);
        let cpu = report.cpu.then(|| notes::cpu_use(measured));
        let mut notes: Vec<String> = cpu.into_iter().collect();
        if report.window.is_some() {
            notes.extend(WindowUse::of(measured).map(|used| used.to_string()));
            notes.extend(ControlShare::of(measured).map(|share| share.to_string()));
        }
        notes
    }

    /// What would have to be changed for more, as `rows` have it.
    pub(super) fn notes_of_bounds(&self, rows: &[Row]) -> Vec<String> {
        let (measured, scenario) = (&self.run.measured, &self.point.scenario);
        // What a paper says of its own points is no question of what to change.
        if scenario.paper.is_some() {
            return Vec::new();
        }
        let mut notes = notes::cells_in_vain(measured);
        notes.extend(notes::of_cpus(rows, scenario, measured));
        notes.extend(notes::next_to_cpu(rows, scenario));
        notes
    }

    /// Has `rows` say what is known of the whole run. Gives what is to be told of its batches.
    pub(super) fn complete(&self, rows: &mut [Row]) -> Option<String> {
        if let Some(found) = self.warm_up {
            rows::say(rows, WARM_UP, |_| Some(found.time.as_secs_f64()));
        }
        let course = self.run.course.as_ref();
        if let Some(course) = course {
            let half =
                |row: &Row| rows::batches_of(course, row).and_then(|batches| stats::half_width(&batches, Level::P95));
            rows::say(rows, HALF_WIDTH, half);
        }
        if let Some(total) = rows.first_mut() {
            total.clocks_ppm = clocks::of_run(&self.point.scenario, self.point.scenario.run.seed);
        }
        rows::batches_of(course?, &Row::default()).and_then(|batches| notes::alike(&batches))
    }
}
