//! Clocks of lines that each run draws.
//!
//! Lines that are equally fast keep their phase for ever, and a switch or a queue that several of them fill finds them
//! in the same order each time. Real clocks differ by some parts per million.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::media::{Random, seed_of};
use crate::scenario::{Link, Scenario};
use kumiki_media::Clock;

/// The setting of a medium that has a clock.
const CLOCK: &str = "clock_ppm";

/// The clocks that the run with `seed` draws, each by its line, in parts per million.
pub(crate) fn of_run(scenario: &Scenario, seed: u64) -> BTreeMap<String, i64> {
    let limits = |link: &Link| Some(Clock::parse(link.settings.get(CLOCK)?.as_str()?)?.limits());
    let drawn = scenario.link.iter().filter_map(|(name, link)| Some((name.clone(), ppm(seed, name, limits(link)?))));
    drawn.collect()
}

/// The scenario as it is in the run with `seed`: each clock that is between limits is somewhere between them.
pub(super) fn drawn(scenario: &Scenario, seed: u64) -> Cow<'_, Scenario> {
    let drawn = of_run(scenario, seed);
    if drawn.is_empty() {
        return Cow::Borrowed(scenario);
    }
    let mut own = scenario.clone();
    for (name, ppm) in drawn {
        if let Some(link) = own.link.get_mut(&name) {
            link.settings.insert(CLOCK.to_owned(), ppm.into());
        }
    }
    Cow::Owned(own)
}

/// Any whole number between the limits, each as likely.
fn ppm(seed: u64, line: &str, (least, most): (i32, i32)) -> i64 {
    let count = i128::from(most) - i128::from(least) + 1;
    let drawn = i128::from(seed_of(seed, line, Random::Clock)).rem_euclid(count);
    i64::from(least) + i64::try_from(drawn).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Choice, Document};

    fn points() -> Vec<crate::scenario::Point> {
        let text = r#"
title = "Lines"
host.a = { count = 3, graph = ["ip", "l0"] }
host.b = { count = 3, like = "a" }
link.line = { count = 2, ends = ["a${i}", "b${i}"], medium = "point-to-point", rate = "10 Mb/s", clock_ppm = "-2 .. 2" }
link.own = { ends = ["a2", "b2"], medium = "point-to-point", rate = "10 Mb/s", clock_ppm = 7 }
load.bulk = { kind = "udp", from = "a0", to = "b0", message = "100 B", rate = "1 Mb/s" }
run.duration = "1 s"
"#;
        Document::parse("x", "x.toml", text).unwrap().points(&Choice::default()).unwrap()
    }

    fn clocks(seed: u64) -> BTreeMap<String, i64> {
        let scenario = drawn(&points()[0].scenario, seed).into_owned();
        let clock = |link: &Link| link.settings[CLOCK].as_integer().unwrap();
        scenario.link.iter().map(|(name, link)| (name.clone(), clock(link))).collect()
    }

    #[test]
    fn clocks_are_drawn_by_seed_and_line_from_all_that_they_may_be() {
        let all: Vec<_> = (0..400).map(clocks).collect();
        assert!(all.iter().all(|it| it["own"] == 7));
        // Rows tell those that were drawn, and no others.
        let told = of_run(&points()[0].scenario, 5);
        assert_eq!(told, [0, 1].map(|it| format!("line{it}")).map(|line| (line.clone(), all[5][&line])).into());
        // Each of five is as likely: 80 of 400, with a deviation of 8.
        for ppm in -2..=2 {
            let count = all.iter().filter(|it| it["line0"] == ppm).count();
            assert!((48..=112).contains(&count), "{ppm}: {count}");
        }
        // Two lines agree in a fifth of the runs, as those that know nothing of each other do.
        let alike = all.iter().filter(|it| it["line0"] == it["line1"]).count();
        assert!((48..=112).contains(&alike), "{alike}");
        assert_eq!(clocks(5), all[5]);
    }
}
