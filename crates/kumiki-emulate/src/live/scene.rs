//! A world, and what is to happen to it at given times.

use std::collections::VecDeque;

use kumiki_delay::Instant;
use kumiki_graph::Duration;
use kumiki_io::Clock;
use kumiki_lab::experiment::LiveWorld;

use super::lines::{Lines, LiveCommand, judge};

/// How far the world goes on until it is asked whether that has taken too long.
pub(super) const STEP: Duration = Duration::from_millis(1);

/// A line of the schedule whose answer is somebody else's affair: what is asked for, and when.
pub(super) type ScheduledCommand = (Instant, LiveCommand);

/// See the module.
pub(super) struct Scene {
    pub(super) world: LiveWorld,
    pub(super) lines: Lines,
    schedule: VecDeque<ScheduledCommand>,
    /// Lines of the schedule that have come to their time, and change nothing in the world.
    due: VecDeque<ScheduledCommand>,
}

impl Scene {
    /// `world`, to which happens what is in `schedule`, at those times.
    ///
    /// # Errors
    /// What is wrong with a line of the schedule.
    pub(super) fn new(world: LiveWorld, mut schedule: Vec<ScheduledCommand>) -> Result<Self, String> {
        let lines = Lines::of(&world);
        judge(&world, &schedule)?;
        // Equal times stay in the order of the file.
        schedule.sort_by_key(|(at, _)| *at);
        Ok(Self { world, lines, schedule: schedule.into(), due: VecDeque::new() })
    }

    /// Lets happen what is due, for `most`, which is then less by what that took; what has not happened by then is due
    /// in the next pass.
    pub(super) fn move_on(&mut self, clock: &impl Clock, most: &mut Duration) {
        let due = clock.now();
        let mut now = due;
        while self.world.standstill().is_none() {
            self.follow();
            if self.world.now() >= due || now.saturating_since(due) >= *most {
                break;
            }
            let next = self.world.next_event_at().unwrap_or(due).max(self.world.now());
            // Not past what changes it.
            let changes = self.schedule.front().map_or(due, |(at, _)| due.min(*at));
            self.world.pass((next + STEP).min(changes));
            now = clock.now();
        }
        *most = most.saturating_sub(now.saturating_since(due));
    }

    /// Does what the schedule has for the present time of the world.
    fn follow(&mut self) {
        while let Some((at, command)) = self.schedule.pop_front_if(|(at, _)| *at <= self.world.now()) {
            if let LiveCommand::Set { line, toward, changes } = &command {
                // It was judged at the beginning, and no line has another medium now.
                let _ = self.lines.set(&mut self.world, (line, toward.as_deref()), changes);
            } else {
                self.due.push_back((at, command));
            }
        }
    }

    /// The next line of the schedule that has come to its time, and that somebody else carries out.
    pub(super) fn take_due(&mut self) -> Option<LiveCommand> {
        self.due.pop_front().map(|(_, command)| command)
    }

    /// When something happens next that nobody outside does.
    pub(super) fn next_event_at(&mut self) -> Option<Instant> {
        let scheduled = self.schedule.front().map(|(at, _)| *at);
        self.world.next_event_at().into_iter().chain(scheduled).min()
    }
}
