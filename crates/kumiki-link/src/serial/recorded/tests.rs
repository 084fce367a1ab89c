use std::collections::VecDeque;

use kumiki_graph::{Address, Duration};
use kumiki_octets::Message;
use proptest::prelude::*;

use super::*;
use crate::testing::Bench;
use crate::{Carrier, DropTail, Serial, SerialConfig, Unit};

fn line(text: &str) -> Serial {
    let times = Arc::new(Opportunities::parse(text).unwrap());
    let carrier = Carrier::Plain { rate: Rate::bits_per_second(1), overhead: 0 };
    let config = SerialConfig { carrier, propagation: Duration::ZERO, say_sent: false };
    Serial::recorded(config, [Arc::clone(&times), times], [(); 2].map(|()| DropTail::UNLIMITED.queue()))
}

/// When frames arrive that were offered so: (us, octets); in us.
fn arrivals(text: &str, offered: &[(u64, usize)]) -> Vec<u64> {
    let mut bench = Bench::default();
    bench.add(Box::new(line(text)));
    for (at, len) in offered {
        let unit = Unit::Frame { data: Message::from_octets(&vec![0; *len]), address: Address::NONE };
        bench.offer(Instant::from_nanos(at * 1000), (0, 0), unit);
    }
    bench.run();
    bench.take().iter().map(|(at, ..)| at.as_nanos() / 1000).collect()
}

/// The words of mahimahi's README: a file with "1" alone is 12 Mb/s.
#[test]
fn one_is_a_packet_in_each_millisecond() {
    assert_eq!(Opportunities::parse("1\n").unwrap().rate(), Rate::ratio(12_000_000, 1));
    assert_eq!(arrivals("1", &[(0, 1500), (0, 1500), (0, 1500)]), [1000, 2000, 3000]);
    // Far behind its end, and between two opportunities.
    assert_eq!(arrivals("1", &[(86_400_000_000, 1500)]), [86_400_001_000]);
    assert_eq!(arrivals("1", &[(5_300, 1500), (5_301, 1500)]), [6_000, 7_000]);
}

#[test]
fn octets_are_counted_and_not_frames() {
    // Three share an opportunity; the fourth takes the rest of it and some of the next.
    assert_eq!(
        arrivals("3\n5\n10", &[(0, 500), (0, 500), (0, 400), (0, 200), (0, 1400)]),
        [3000, 3000, 3000, 5000, 5000]
    );
    // Longer than an opportunity.
    assert_eq!(arrivals("3\n5\n10", &[(0, 4501), (0, 100)]), [13_000, 13_000]);
    // Several in a millisecond, of which none can be used by what comes then.
    assert_eq!(arrivals("2\n2\n2\n9", &[(0, 3000), (2000, 10), (2001, 10)]), [2000, 9000, 9000]);
    assert_eq!(arrivals("2\n2\n2\n9", &[(0, 1500), (1999, 1500), (1999, 1500), (1999, 1)]), [2000, 2000, 2000, 9000]);
}

#[test]
fn what_nobody_waits_for_is_lost() {
    // The rest of an opportunity after which nothing waits too.
    assert_eq!(arrivals("2\n4", &[(0, 100), (2500, 1500)]), [2000, 4000]);
    assert_eq!(arrivals("2\n4", &[(0, 100), (2000, 100)]), [2000, 4000]);
    // That of the first instant, and of the end, which is the first instant of the next round.
    assert_eq!(
        arrivals("0\n0\n7", &[(0, 1500), (0, 1500), (0, 1500), (0, 1500), (0, 1500)]),
        [7000, 7000, 7000, 14_000, 14_000]
    );
}

#[test]
fn lines_that_are_no_times_are_refused_by_number() {
    for (text, line, words) in [
        ("", 1, "no opportunity"),
        ("0", 1, "lasts for 0 ms"),
        ("0\n0\n0\n", 3, "lasts for 0 ms"),
        ("1\n2\n\n3", 3, "\"\" is no whole number"),
        ("1\nx", 2, "\"x\" is no whole number"),
        ("1\n2.5", 2, "is no whole number"),
        ("-1", 1, "is no whole number"),
        ("+1", 1, "is no whole number"),
        ("1 2", 1, "is no whole number"),
        ("5\n6\n4\n", 3, "4 ms is before 6 ms"),
        ("1\n99999999999", 2, "later than 4294967295 ms"),
        ("1\n99999999999999999999999999", 2, "later than"),
    ] {
        let error = Opportunities::parse(text).unwrap_err();
        assert!(error.line == line && error.problem.contains(words), "{text:?}: {error}");
    }
    assert!(Opportunities::parse("1\r\n 2 \r\n\r\n \n").is_ok());
    // All of them are told, each line compared with the last that was right.
    let mut lines = Vec::new();
    let read = Opportunities::parse_all("1\nx\n9\n3\n4\n9\n-1\n", |wrong| lines.push(wrong.line));
    assert!(read.is_none());
    assert_eq!(lines, [2, 4, 5, 7]);
}

/// mahimahi's loop (`LinkQueue::rationalize`): at each opportunity packets that came before leave the queue as long as
/// octets of it are left.
fn as_mahimahi_has_it(times: &[u64], offered: &[(u64, usize)]) -> Vec<u64> {
    let (mut delivered, mut queue, mut coming) = (Vec::new(), VecDeque::new(), offered.iter().copied().peekable());
    let (mut base, mut number, mut in_transit) = (0, 0, 0);
    while delivered.len() < offered.len() {
        let now = 1000 * (base + times[number]);
        queue.extend(std::iter::from_fn(|| coming.next_if(|(at, _)| *at < now)).map(|(_, len)| len));
        let mut left = 1500;
        while left > 0 {
            if in_transit == 0 {
                let Some(next) = queue.pop_front() else { break };
                in_transit = next;
            }
            let amount = left.min(in_transit);
            (left, in_transit) = (left - amount, in_transit - amount);
            if in_transit == 0 {
                delivered.push(now);
            }
        }
        number = (number + 1) % times.len();
        if number == 0 {
            base += times[times.len() - 1];
        }
    }
    delivered
}

proptest! {
    #[test]
    fn frames_arrive_as_mahimahi_delivers_them(
        mut times in prop::collection::vec(0..12_u64, 1..12),
        offered in prop::collection::vec((prop_oneof![0..3_000_u64, (0..3_u64).prop_map(|it| it * 1000)], 1..4000_usize), 1..30),
    ) {
        times.sort_unstable();
        *times.last_mut().unwrap() += 1;
        let text: Vec<String> = times.iter().map(ToString::to_string).collect();
        let mut at = 0;
        let offered: Vec<(u64, usize)> = offered.into_iter().map(|(later, len)| { at += later; (at, len) }).collect();
        prop_assert_eq!(arrivals(&text.join("\n"), &offered), as_mahimahi_has_it(&times, &offered));
    }
}
