//! Times that were measured, such as round trips: for laboratories.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Exact | how many there are, the least, the greatest, and the mean |
//! | To 1 % | quantiles, and never beyond the least and the greatest |
//! | Measured | from a moment on ([`Times::measure_from_here`]) they are counted apart, with a least and a greatest of their own |

use hdrhistogram::Histogram;
use kumiki_graph::Duration;

/// Times, each to the nanosecond, and a few figures of all of them.
///
/// ```
/// use kumiki_graph::Duration;
/// use kumiki_inet::times::Times;
///
/// let mut times = Times::default();
/// times.record(Duration::from_nanos(19_999_999));
/// times.measure_from_here();
/// times.record(Duration::from_nanos(20_000_001));
/// assert_eq!((times.len(), times.least().unwrap().as_nanos()), (2, 19_999_999));
/// let measured = times.measured();
/// assert_eq!((measured.len(), measured.least().unwrap().as_nanos()), (1, 20_000_001));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Times {
    /// In nanoseconds. It takes more room as longer ones come.
    boxes: Histogram<u32>,
    ends: Ends,
    /// What there was when the measurement began, and the ends of what has come since.
    before: Option<Box<(Self, Ends)>>,
}

/// The sum, the least and the greatest, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ends {
    sum: u128,
    least: u64,
    most: u64,
}

impl Ends {
    const NONE: Self = Self { sum: 0, least: u64::MAX, most: 0 };

    fn add(&mut self, other: Self) {
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }
}

impl Default for Times {
    /// None so far.
    #[expect(clippy::expect_used, reason = "two digits are allowed")]
    fn default() -> Self {
        let boxes = Histogram::new(2).expect("two digits are from 0 to 5");
        Self { boxes, ends: Ends::NONE, before: None }
    }
}

impl Times {
    /// One more.
    pub fn record(&mut self, time: Duration) {
        let ns = time.as_nanos();
        let one = Ends { sum: ns.into(), least: ns, most: ns };
        // It grows as it must.
        let _ = self.boxes.record(ns);
        self.ends.add(one);
        if let Some(before) = &mut self.before {
            before.1.add(one);
        }
    }

    /// What came so far is not measured; of two such moments the later one counts.
    pub fn measure_from_here(&mut self) {
        self.before = None;
        self.before = Some(Box::new((self.clone(), Ends::NONE)));
    }

    /// Those that have come since the measurement began; all, where that was never said.
    #[must_use]
    pub fn measured(&self) -> Self {
        let mut boxes = self.boxes.clone();
        let Some((before, ends)) = self.before.as_deref() else {
            return Self { boxes, ends: self.ends, before: None };
        };
        // All of what was so earlier is in it, so nothing can go wrong.
        let _ = boxes.subtract(&before.boxes);
        Self { boxes, ends: *ends, before: None }
    }

    /// With all of `others`; what of both is measured is no longer known.
    pub fn add(&mut self, others: &Self) {
        // It grows as it must.
        let _ = self.boxes.add(&others.boxes);
        self.ends.add(others.ends);
        self.before = None;
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.boxes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// The least.
    #[must_use]
    pub fn least(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.ends.least))
    }

    /// The greatest.
    #[must_use]
    pub fn most(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.ends.most))
    }

    /// The mean, in nanoseconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.ends.sum as f64 / self.len() as f64)
    }

    /// The least time that so large a part of all do not exceed, from 0 to 1.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let ns = self.boxes.value_at_quantile(part);
        (!self.is_empty()).then(|| Duration::from_nanos(ns.clamp(self.ends.least, self.ends.most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> Times {
        let mut all = Times::default();
        times.iter().for_each(|ns| all.record(Duration::from_nanos(*ns)));
        all
    }

    fn told(times: &Times) -> (u64, Option<u64>, Option<f64>, Option<u64>) {
        let [least, most] = [times.least(), times.most()].map(|it| it.map(Duration::as_nanos));
        (times.len(), least, times.mean_ns(), most)
    }

    #[test]
    fn least_mean_and_greatest_are_exact_and_quantiles_lie_between() {
        let times = of(&[20_000_123, 20_000_125, 39_999_999]);
        assert_eq!(told(&times), (3, Some(20_000_123), Some(80_000_247.0 / 3.0), Some(39_999_999)));
        let [low, middle, high] = [0.0, 0.5, 1.0].map(|part| times.quantile(part).unwrap().as_nanos());
        assert!((20_000_123..20_200_126).contains(&low) && (20_000_125..20_200_126).contains(&middle));
        assert_eq!(high, 39_999_999);
        assert_eq!(told(&Times::default()), (0, None, None, None));
        assert_eq!(Times::default().quantile(0.5), None);
    }

    #[test]
    fn what_came_before_the_measurement_is_not_in_what_is_measured() {
        let mut times = of(&[5, 70_000_000]);
        assert_eq!(times.measured(), times);
        times.measure_from_here();
        assert_eq!(told(&times.measured()), (0, None, None, None));
        [30_000_001, 40_000_003].into_iter().for_each(|ns| times.record(Duration::from_nanos(ns)));
        let measured = times.measured();
        assert_eq!(told(&measured), (2, Some(30_000_001), Some(35_000_002.0), Some(40_000_003)));
        assert_eq!(times.len(), 4);
        // And again, from later on.
        times.measure_from_here();
        times.record(Duration::from_nanos(9));
        assert_eq!(told(&times.measured()), (1, Some(9), Some(9.0), Some(9)));
    }

    #[test]
    fn several_add_up() {
        let mut all = of(&[7, 9]);
        all.add(&of(&[3]));
        all.add(&Times::default());
        assert_eq!(told(&all), (3, Some(3), Some(19.0 / 3.0), Some(9)));
    }
}
