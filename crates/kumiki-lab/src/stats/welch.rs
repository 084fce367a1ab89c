//! The difference of two means.
//!
//! | | |
//! |---|---|
//! | Specification | B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved", Biometrika 34 (1947); degrees of freedom by Welch and Satterthwaite |
//! | Left out | paired runs: equal seeds do not make two runs alike once they differ in anything |

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Level, Summary, float};

/// Half the width of the interval of the difference of two means, in the unit of the values. `None` where one of them
/// is of a single run, or nothing varied in either: then nothing says how far a difference may be chance.
#[must_use]
pub fn difference_half_width(a: &Summary, b: &Summary, level: Level) -> Option<f64> {
    let [a, b] = [a, b].map(|side| Some((side.deviation?.powi(2) / float(side.n), float(side.n) - 1.0)));
    let ((a, degrees_a), (b, degrees_b)) = (a?, b?);
    let error = a + b;
    if error <= 0.0 {
        return None;
    }
    let degrees = error * error / (a * a / degrees_a + b * b / degrees_b);
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    Some(distribution.inverse_cdf(0.5 + f64::from(level.percent()) / 200.0) * error.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(a: &[f64], b: &[f64]) -> Option<f64> {
        let of = |values| Summary::of(values, Level::P95).unwrap();
        difference_half_width(&of(a), &of(b), Level::P95)
    }

    /// R: t.test(c(27.5,21.0,19.0,23.6,17.0,17.9,16.9,20.1,21.9,22.6,23.1,19.6,19.0,21.7,21.4),
    /// c(27.1,22.0,20.8,23.4,23.4,23.5,25.8,22.0,24.8,20.2,21.9,22.1,22.9,20.5,24.4)). These are the values of
    /// Wikipedia's first example of the test: t -2.46, 25.0 degrees of freedom (to the digit printed there).
    #[test]
    fn an_interval_is_that_of_the_published_example() {
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
        let half = half(&a, &b).unwrap();
        let difference = 22.986_667 - 20.82;
        // t(0.975, 25.0) is 2.0595 in any table, and the difference is 2.46 standard errors.
        assert!((difference / half * 2.0595 - 2.46).abs() < 0.01, "{half}");
    }

    #[test]
    fn one_run_or_no_spread_has_no_interval() {
        assert_eq!(half(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(half(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert!(half(&[1.0, 1.0], &[2.0, 3.0]).is_some());
    }
}
