//! How long a queue was, and for how long.

use kumiki_graph::{Duration, Instant};

/// For which time so many frames waited.
///
/// ```
/// use kumiki_graph::{Duration, Instant};
/// use kumiki_link::Occupancy;
///
/// let at = |ms| Instant::ZERO + Duration::from_millis(ms);
/// let mut queue = Occupancy::default();
/// queue.change(at(6), 0);   // until then nothing waited
/// queue.change(at(9), 1);   // until then one frame
/// let queue = queue.until(at(10), 2);
/// assert_eq!((queue.mean(), queue.length()), (0.5, 2));
/// let later = queue.until(at(12), 3).since(&queue);
/// assert_eq!((later.began_with(), later.length(), later.mean()), (2, 3, 3.0));
/// assert_eq!((queue.quantile(0.5), queue.quantile(0.95), queue.quantile(1.0)), (0, 2, 2));
/// // It has not been empty since 6 ms, and then held one until 9 ms.
/// assert_eq!([0, 1].map(|frames| queue.longer_for(frames)), [4, 1].map(Duration::from_millis));
/// assert_eq!([0, 1].map(|frames| queue.longer_in_all(frames)), [4, 1].map(Duration::from_millis));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// When it last changed.
    changed: Instant,
    /// Until then it held so many.
    length: u64,
    /// So many it held when what is told of it began.
    began_with: u64,
    /// By length.
    times: Vec<Duration>,
    /// When it last held so many, by length.
    last: Vec<Instant>,
}

impl Occupancy {
    /// Until `now` the queue held `frames`, and from here on it does not.
    pub fn change(&mut self, now: Instant, frames: u64) {
        self.length = frames;
        let Ok(length) = usize::try_from(frames) else {
            return;
        };
        if self.times.len() <= length {
            self.times.resize(length + 1, Duration::ZERO);
            self.last.resize(length + 1, Instant::ZERO);
        }
        if let Some(time) = self.times.get_mut(length) {
            *time += now.saturating_since(self.changed);
        }
        if let Some(last) = self.last.get_mut(length) {
            *last = self.changed.max(now);
        }
        self.changed = self.changed.max(now);
    }

    /// The same at `now`, where it holds `frames`.
    #[must_use]
    pub fn until(&self, now: Instant, frames: u64) -> Self {
        let mut whole = self.clone();
        whole.change(now, frames);
        whole
    }

    /// Without what was so `earlier`.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        self.began_with = earlier.length;
        for (time, before) in self.times.iter_mut().zip(&earlier.times) {
            *time = time.saturating_sub(*before);
        }
        self
    }

    /// How many frames it held when that was last said.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// How many it held before all of this.
    #[must_use]
    pub const fn began_with(&self) -> u64 {
        self.began_with
    }

    /// For how long it has held more than so many without a break, when its length was last said.
    #[must_use]
    pub fn longer_for(&self, frames: u64) -> Duration {
        let shorter = (0..=frames).zip(&self.last).map(|(_, last)| *last).max();
        self.changed.saturating_since(shorter.unwrap_or(Instant::ZERO))
    }

    /// For how long it has held more than so many, all such times together.
    #[must_use]
    pub fn longer_in_all(&self, frames: u64) -> Duration {
        let longer = (0_u64..).zip(&self.times).filter(|(length, _)| *length > frames);
        longer.fold(Duration::ZERO, |all, (_, time)| all + *time)
    }

    /// All of the time.
    #[must_use]
    pub fn whole(&self) -> Duration {
        self.times.iter().fold(Duration::ZERO, |all, time| all + *time)
    }

    /// The mean over time, in frames; 0 of no time.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean for a figure")]
    pub fn mean(&self) -> f64 {
        let whole = self.whole().as_secs_f64();
        let sum: f64 = (0_u64..).zip(&self.times).map(|(frames, time)| frames as f64 * time.as_secs_f64()).sum();
        if whole > 0.0 { sum / whole } else { 0.0 }
    }

    /// No more than so many frames waited for this part of the time, from 0 to 1; with 1 the most that ever did.
    #[must_use]
    pub fn quantile(&self, part: f64) -> u64 {
        let wanted = self.whole().as_secs_f64() * part;
        let mut so_far = Duration::ZERO;
        let mut longest = 0;
        for (frames, time) in (0..).zip(&self.times).filter(|(_, time)| !time.is_zero()) {
            so_far += *time;
            longest = frames;
            if part < 1.0 && so_far.as_secs_f64() >= wanted {
                break;
            }
        }
        longest
    }
}
