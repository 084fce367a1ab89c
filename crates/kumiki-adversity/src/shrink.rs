//! A smaller case that breaks the same rule.
//!
//! One thing after the other is made simpler, and stays so where the rule is still broken: less data, one impairment
//! less, one option of TCP less. What is left is what the failure needs, or nearly so.

use kumiki_graph::{Duration, Quality};
use kumiki_inet::tcp::congestion::Algorithm;
use kumiki_inet::tcp::defaults;
use kumiki_link::{Impairment, Loss};
use kumiki_wire::inet::EcnUse;
use kumiki_xtp as xtp;

use super::case::{Case, End, Finish, Opening, Reading, Stack, Version};
use super::run::{Options, run};

/// So many runs are spent at most.
const RUNS: usize = 600;

type Simplification = fn(&mut Case, usize);

/// What can be made simpler of end 0 and 1, or of what they send.
const STEPS: [Simplification; 61] = [
    |case, n| case.line.weather_of(n, |it| *it = Impairment::default()),
    |case, n| case.end(n, |end| end.writing.total = 0),
    |case, n| case.end(n, |end| end.writing.total /= 16),
    |case, n| case.end(n, |end| end.writing.total /= 2),
    |case, n| case.end(n, |end| end.writing.total = end.writing.total * 7 / 8),
    |case, n| {
        case.end(n, |end| {
            end.writing.total = end.writing.total.saturating_sub(1);
        });
    },
    |case, n| {
        case.end(n, |end| {
            if end.xtp.is_none() {
                end.tcp = defaults::modern();
                end.profile = "modern";
            }
        });
    },
    |case, n| case.line.weather_of(n, |it| it.loss = Loss::None),
    |case, n| case.line.weather_of(n, |it| it.duplicate = 0.0),
    |case, n| case.line.weather_of(n, |it| it.mark = 0.0),
    |case, n| {
        case.line.weather_of(n, |it| {
            it.corrupt = 0.0;
            it.corrupt_again = 0.0;
        });
    },
    |case, n| case.line.weather_of(n, |it| it.jitter = Duration::ZERO),
    |case, n| case.line.weather_of(n, |it| it.hold = None),
    |case, n| case.line.weather_of(n, |it| it.down.clear()),
    |case, n| {
        case.line.weather_of(n, |it| {
            let _ = it.down.pop();
        });
    },
    |case, _| case.line.queue = u64::MAX,
    |case, _| case.line.rates = [100_000_000; 2],
    |case, _| case.line.propagation = Duration::from_millis(10),
    |case, _| case.stack = Stack::Ip,
    |case, _| case.version = Version::Four,
    |case, n| case.end(n, |end| end.quality = Quality::default()),
    |case, n| case.end(n, |end| end.mtu = 1500),
    |case, n| case.end(n, |end| end.strangers = None),
    |case, n| case.end(n, |end| end.by_gateway = false),
    |case, n| {
        if let Some(often) = case.line.squeeze.get_mut(n) {
            *often = 0;
        }
    },
    |case, n| case.end(n, |end| end.batch = 1),
    |case, n| case.end(n, |end| end.clusters = None),
    |case, n| case.end(n, |end| end.reading = Reading::AtOnce),
    |case, n| case.end(n, |end| end.finish = Finish::Written),
    |case, n| case.end(n, |end| end.abort = None),
    |case, n| case.end(n, |end| end.writing.pause = None),
    |case, n| case.end(n, |end| end.writing.urgent = None),
    |case, n| case.end(n, |end| end.writing.piece = (1 << 20, 1 << 20)),
    |case, n| {
        case.end(n, |end| {
            end.opening = match end.opening {
                Opening::Calls { .. } => Opening::Calls { after: Duration::ZERO },
                Opening::Listens { .. } => Opening::Listens {
                    after: Duration::ZERO,
                    accepts_after: Duration::ZERO,
                    refuses: false,
                    stays: true,
                },
            };
        });
    },
    |case, n| case.end(n, |end| end.tcp.timestamps = false),
    |case, n| case.end(n, |end| end.tcp.sack = false),
    |case, n| case.end(n, |end| end.tcp.ecn = EcnUse::Off),
    |case, n| case.end(n, |end| end.tcp.window_scaling = false),
    |case, n| case.end(n, |end| end.tcp.congestion = Algorithm::NewReno),
    |case, n| case.end(n, |end| end.tcp.mss = None),
    |case, n| {
        case.end(n, |end| {
            end.tcp.receive_buffer = defaults::modern().receive_buffer;
        });
    },
    |case, n| {
        case.end(n, |end| {
            end.tcp.send_buffer = defaults::modern().send_buffer;
        });
    },
    |case, n| {
        case.end(n, |end| {
            let modern = defaults::modern();
            end.tcp.ack = modern.ack;
            end.tcp.ack_timer = modern.ack_timer;
            end.tcp.window_update = modern.window_update;
            end.tcp.edge = modern.edge;
            end.tcp.rounding = modern.rounding;
        });
    },
    |case, n| {
        case.end(n, |end| {
            let modern = defaults::modern();
            end.tcp.rto = modern.rto;
            end.tcp.slow_beat = modern.slow_beat;
        });
    },
    |case, n| {
        if let Some(liar) = case.line.liars.get_mut(n) {
            *liar = None;
        }
    },
    |case, n| case.xtp(n, |it, _| *it = xtp::Config::default()),
    |case, n| case.xtp(n, |it, of| it.receive_buffer = of.receive_buffer),
    |case, n| case.xtp(n, |it, of| it.send_buffer = of.send_buffer),
    |case, n| case.xtp(n, |it, of| it.first_alloc = of.first_alloc),
    |case, n| case.xtp(n, |it, of| it.amplification = of.amplification),
    |case, n| case.xtp(n, |it, of| it.maxdata = of.maxdata),
    |case, n| case.xtp(n, |it, of| it.rtt = of.rtt),
    |case, n| case.xtp(n, |it, of| it.tail = of.tail),
    |case, n| case.xtp(n, |it, of| it.recovery = of.recovery),
    |case, n| case.xtp(n, |it, of| it.reordering = of.reordering),
    |case, n| case.xtp(n, |it, of| it.congestion = of.congestion),
    |case, n| case.xtp(n, |it, of| it.error_control = of.error_control),
    |case, n| {
        case.xtp(n, |it, of| {
            (it.rate, it.in_rate, it.total_rate) = (of.rate, of.in_rate, of.total_rate);
        });
    },
    |case, n| case.xtp(n, |it, of| (it.check, it.edge) = (of.check, of.edge)),
    |case, n| case.end(n, |end| end.writing.tagged = None),
    |case, n| case.end(n, |end| end.writing.messages = false),
];

impl Case {
    fn end(&mut self, number: usize, change: impl FnOnce(&mut End)) {
        if let Some(end) = self.ends.get_mut(number) {
            change(end);
        }
    }
}

impl Case {
    /// Makes something of an XTP as it is by default.
    fn xtp(&mut self, number: usize, change: impl FnOnce(&mut xtp::Config, &xtp::Config)) {
        self.end(number, |end| {
            if let Some(own) = &mut end.xtp {
                change(own, &xtp::Config::default());
            }
        });
    }
}

impl super::case::Line {
    fn weather_of(&mut self, number: usize, change: impl FnOnce(&mut Impairment)) {
        if let Some(weather) = self.weather.get_mut(number) {
            change(weather);
        }
    }
}

/// The simplest case found that breaks `rule` as `case` does; `each` is told of every step that was kept.
pub fn shrink(case: &Case, rule: &str, mut each: impl FnMut(usize)) -> Case {
    let mut best = case.clone();
    let mut runs = 0;
    loop {
        let mut better = false;
        for step in STEPS {
            for number in 0..2 {
                // The same step again as long as it helps: sizes are halved many times.
                while runs < RUNS {
                    let mut simpler = best.clone();
                    step(&mut simpler, number);
                    if simpler == best {
                        break;
                    }
                    runs += 1;
                    let broken = run(&simpler, Options::default()).ok().and_then(|outcome| outcome.violation);
                    if broken.is_none_or(|violation| violation.rule != rule) {
                        break;
                    }
                    best = simpler;
                    better = true;
                    each(runs);
                }
            }
        }
        if !better || runs >= RUNS {
            return best;
        }
    }
}
