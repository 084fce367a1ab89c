//! The first of a scenario's points, for what is about one, and how to get another.

use kumiki_octets::text::counted;

use super::label::{follows, shown};
use super::vary::same;
use super::{Choice, ConfigError, Document, Point};

/// The first point of a scenario.
#[derive(Clone, Debug)]
pub struct First {
    /// The point.
    pub point: Point,
    /// Of which values it is, and how to get others, in a line; `None` where there are no others.
    pub told: Option<String>,
}

impl Document {
    /// As [`Document::checked`], of the first point alone, for what is about one.
    ///
    /// # Errors
    /// As [`Document::checked`].
    pub fn first_checked(
        &self,
        choice: &Choice,
        check: impl Fn(&Point) -> Result<(), ConfigError>,
    ) -> Result<First, ConfigError> {
        let is_first = |point: &Point| if point.index == 0 { check(point) } else { Ok(()) };
        let points = self.checked(choice, is_first)?;
        let told = told(&points);
        let point = points.into_iter().next();
        let point = point.ok_or_else(|| ConfigError::new("the scenario has no points").in_file(self.file()))?;
        Ok(First { point, told })
    }
}

/// What is said of the first of several points.
fn told(points: &[Point]) -> Option<String> {
    let (first, others) = points.split_first().filter(|(_, others)| !others.is_empty())?;
    let names: Vec<&str> = first.varied.iter().map(|(name, _)| name.as_str()).collect();
    let varies = first.varied.iter().enumerate().filter_map(|(place, (name, value))| {
        // What goes with a name before it is known by that.
        let before = names.iter().take(place);
        if before.into_iter().any(|other| follows(points, name, &[other])) {
            return None;
        }
        let mut values = others.iter().filter_map(|point| point.value(name));
        Some((name, value, values.find(|other| !same(value, other))?))
    });
    let (at, set): (Vec<String>, Vec<String>) =
        varies.map(|(name, value, other)| (format!("{name} = {}", shown(value)), set(name, other))).unzip();
    let count = counted(points.len(), "point");
    Some(format!("At {}, the first of {count}; others: {}", at.join(", "), set.join(", ")))
}

/// What gives the varied name `name` that value, for a shell.
fn set(name: &str, value: &toml::Value) -> String {
    // A text with a range or commas would be several values.
    let is_several = value.as_str().is_some_and(|text| text.contains("..") || text.contains(','));
    let value = if is_several { format!("[{value}]") } else { value.to_string() };
    let quoted = format!("{name}={value}").replace('\'', r"'\''");
    format!("--set '{quoted}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIED: &str = r#"
title = "Clocks"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "${rate}", propagation = "${far}", clock_ppm = "${ppm}" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run.duration = "1 s"
[vary]
ppm = [0, "-20 .. 20"]
"rate, far" = [["10 Mb/s", "1 ms"], ["100 Mb/s", "2 ms"]]
"#;

    fn first(set: &[&str]) -> First {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        let choice = Choice { set, quick: false, runs: None };
        Document::parse("x", "x.toml", VARIED).unwrap().first_checked(&choice, |_| Ok(())).unwrap()
    }

    #[test]
    fn what_is_said_of_the_first_point_leads_to_others() {
        let expected = "At ppm = 0, rate = 10 Mb/s, the first of 4 points; others: --set 'ppm=[\"-20 .. 20\"]', --set 'rate=\"100 Mb/s\"'";
        assert_eq!(first(&[]).told.unwrap(), expected);
        let other = first(&["ppm=[\"-20 .. 20\"]", "rate=\"100 Mb/s\""]);
        assert_eq!((other.point.label().as_str(), other.told), ("ppm -20 .. 20, rate 100 Mb/s, far 2 ms", None));
    }
}
