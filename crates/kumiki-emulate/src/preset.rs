//! Paths by name.
//!
//! | | |
//! |---|---|
//! | Rates and round trips | of the sources that each preset names |
//! | Queues | ours, for no source has one: in each direction what it carries in a round trip, and 15 packets of 1500 octets at least ([`Preset::queue`]) |
//! | Delay | half of the round trip each way; the time to put a packet on the line comes in addition, as on the line that it stands for |
//! | Left out | what changes with time: hand-overs of satellites and cells, which `--at` and traces have |
//!
//! Other tools mean other numbers by the same names.

use kumiki_delay::Command;

/// A path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// What it is called.
    pub name: &'static str,
    /// To the program, in kb/s.
    pub down: u64,
    /// From the program, in kb/s.
    pub up: u64,
    /// There and back, in ms.
    pub round_trip: u64,
    /// Where the numbers are from.
    pub source: &'static str,
}

const WEBPAGETEST: &str = "WebPageTest, connectivity.ini.sample";

const fn preset(name: &'static str, (down, up): (u64, u64), round_trip: u64, source: &'static str) -> Preset {
    Preset { name, down, up, round_trip, source }
}

/// All of them, from the slowest on.
pub const PRESETS: [Preset; 11] = [
    preset("dial", (49, 30), 120, WEBPAGETEST),
    preset("edge", (240, 200), 840, WEBPAGETEST),
    preset("3g-slow", (400, 400), 400, WEBPAGETEST),
    preset("dsl", (1500, 384), 50, WEBPAGETEST),
    preset("3g", (1600, 768), 300, WEBPAGETEST),
    preset("3g-fast", (1600, 768), 150, WEBPAGETEST),
    preset("cable", (5000, 1000), 28, WEBPAGETEST),
    preset("4g", (9000, 9000), 170, WEBPAGETEST),
    preset("lte", (12_000, 12_000), 70, WEBPAGETEST),
    preset(
        "geostationary",
        (19_000, 2500),
        600,
        "HughesNet: Ookla 2021 Q3 (rates); A first look at Starlink performance, IMC 2022 (round trip)",
    ),
    preset(
        "starlink",
        (87_000, 13_500),
        50,
        "Ookla 2021 Q3, medians (rates); Fact checking Starlink's performance figures, APNIC 2022 (round trip)",
    ),
];

impl Preset {
    /// The preset of this name.
    ///
    /// # Errors
    /// A sentence with the names that there are.
    pub fn find(name: &str) -> Result<Self, String> {
        let found = PRESETS.into_iter().find(|preset| preset.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let near = names.iter().find(|it| it.eq_ignore_ascii_case(name));
            let near = near.map_or_else(String::new, |near| format!("; try {near}"));
            format!("`{name}` is no preset; there are {}{near}", names.join(", "))
        })
    }

    /// What may wait for a line of this rate (kb/s), in octets.
    #[must_use]
    pub const fn queue(&self, rate: u64) -> u64 {
        const LEAST: u64 = 15 * 1500;
        let carried = rate * self.round_trip / 8;
        if carried > LEAST { carried } else { LEAST }
    }

    /// As lines of a delay generator.
    ///
    /// # Errors
    /// None: each is one that it reads.
    pub fn lines(&self) -> Result<Vec<Command>, String> {
        let way = |name: &str, rate: u64| {
            let (queue, delay) = (self.queue(rate), self.round_trip * 500);
            Command::parse(&format!("{name} rate {rate}kb/s queue {queue}B delay {delay}us"))
        };
        Ok(vec![way("up", self.up)?, way("down", self.down)?])
    }
}

#[cfg(test)]
mod tests {
    use kumiki_delay::Path;
    use kumiki_graph::Instant;

    use super::*;

    fn settings(preset: Preset) -> [String; 2] {
        let mut path = Path::new(1);
        for line in preset.lines().unwrap() {
            let Command::Set(way, changes) = line else { panic!("{line:?}") };
            path.set(Instant::ZERO, way, &changes);
        }
        [0, 1].map(|from| path.settings(from).to_string())
    }

    #[test]
    fn each_preset_sets_both_directions() {
        assert_eq!(
            settings(Preset::find("3g").unwrap()),
            ["rate 768 kb/s queue 28800 B delay 150 ms", "rate 1.6 Mb/s queue 60 kB delay 150 ms"]
        );
        for preset in PRESETS {
            let [up, down] = settings(preset);
            assert!(up.contains("rate") && down.contains("delay"), "{up}; {down}");
        }
        let why = Preset::find("5g").unwrap_err();
        assert!(why.contains("3g-fast") && why.contains("starlink"), "{why}");
    }
}
