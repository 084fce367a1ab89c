//! What the heads of columns and the words in them mean, for whoever has only the page.

/// What a column shows, by its head.
const HEADS: [(&str, &str); 14] = [
    ("limit (Mb/s)", "what the lines on the way leave for data when all headers are taken off"),
    (
        "held back by",
        "what kept the writing TCP from sending more, in shares of the measured time, and of calls after long pauses also of that in which there was one; where nothing stands, it was what bound it, for 95 % of the time or more",
    ),
    (
        "round trip (ms)",
        "from a segment to its acknowledgment as TCP measured it, a delayed one with its delay, or of an echo: the mean, and (p99) what 99 % were below",
    ),
    ("one way (ms)", "one-way delay of datagrams, from program to program: the mean, and (p99) what 99 % were below"),
    (
        "completion (ms)",
        "how long it took: of a transfer from its call, with the opening that its goodput does not count, and of a request with its response without the opening of the connection",
    ),
    (
        "with opening (ms)",
        "how long a request with its response took, where it was the first of a connection with the opening of that: the mean, and (p99) what 99 % were below; nothing stands where the mean is no more than 1 % above that without the opening",
    ),
    (
        "lost, %",
        "datagrams and echoes that were lost, of those that were sent; echoes in flight at the end count for neither",
    ),
    ("retransmitted", "segments that TCP retransmitted"),
    ("retransmitted, %", "segments that TCP retransmitted, of all that it sent"),
    ("of all segments", "retransmitted segments, of all that were sent"),
    (
        "lost on the way",
        "frames or cells that queues had no room for or dropped to stay short, and what lines lost; not what an Ethernet switch had no room for of frames to groups of stations, as requests of ARP are, of which it has a copy for each port",
    ),
    (
        "longest queue",
        "the end of a line with the longest queue, and how many waited there at most in 95 % of the time; nothing stands where nothing waited anywhere",
    ),
    (
        "Jain's index",
        "how alike the rates of flows were, which is how evenly they shared where they were there at one time: 1 where all had the same, 1/n where one of n had everything",
    ),
    (
        "Jain",
        "how alike the rates of flows were, which is how evenly they shared where they were there at one time: 1 where all had the same, 1/n where one of n had everything",
    ),
];

/// What a word of `bound_by` or `held` means.
const WORDS: [(&str, &str); 22] = [
    ("link", "a line on the way was full, or one of twice its rate would save more than all else"),
    ("host", "a CPU had no time left"),
    ("pages", "writers waited for memory"),
    ("power", "a host at one of its ends had no power"),
    ("aborted", "the connection was given up or reset"),
    ("loss", "datagrams or echoes were lost, and not in the queue of a full line"),
    ("window", "the window was full, of what is no TCP"),
    ("opening", "the handshake was not over"),
    (
        "application",
        "the program had written nothing more, though it might; of several transfers together, the next had not begun",
    ),
    ("round trip", "all that was written was in flight, and the program waited for the answer"),
    (
        "queue",
        "an answer or an acknowledgment was waited for, while something of it waited in the queue of a line behind what others sent",
    ),
    ("send buffer", "the sender's buffer was full of what was not acknowledged"),
    ("receive window", "the receiver's window was full"),
    ("slow start", "the congestion window still grew from its first value"),
    ("congestion window after a loss", "the congestion window, as a loss had left it"),
    ("congestion window after a mark", "the congestion window, as a mark (ECN) had left it"),
    ("congestion window", "the congestion window, which neither a loss nor a mark had cut"),
    ("pacing", "the time of the next segment had not come"),
    ("coalescing", "a small segment waited for an acknowledgment (Nagle)"),
    (
        "delayed acknowledgment at the peer",
        "the peer kept an acknowledgment back, for a second segment or until its timer ran out",
    ),
    (
        "retransmission time-out",
        "something was lost, and only a timer could tell, of a time-out or of a tail loss probe",
    ),
    ("closing", "all was sent, and the end too"),
];

fn all<'a>(known: &'a [(&str, &str)], is_there: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = String> + 'a {
    known.iter().filter(move |(word, _)| is_there(word)).map(|(word, meaning)| format!("{word}: {meaning}"))
}

/// What the heads mean of which `is_there` says that they are shown.
pub(super) fn heads(is_there: impl Fn(&str) -> bool) -> Vec<String> {
    all(&HEADS, is_there).collect()
}

/// The same of words.
pub(super) fn words(is_there: impl Fn(&str) -> bool) -> Vec<String> {
    all(&WORDS, is_there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Limit;

    /// What is counted otherwise than a reader would, and what an empty cell means.
    #[test]
    fn heads_say_what_is_counted_and_why_nothing_stands() {
        for (head, said) in [
            ("lost on the way", "not what an Ethernet switch had no room for of frames to groups"),
            ("completion (ms)", "of a transfer from its call"),
            ("with opening (ms)", "nothing stands where"),
            ("longest queue", "nothing stands where"),
        ] {
            assert!(heads(|it| it == head).concat().contains(said), "{head}");
        }
    }

    #[test]
    fn every_word_of_what_holds_a_connection_is_explained() {
        for limit in Limit::ALL {
            assert_eq!(words(|word| word == limit.name()).len(), 1, "{}", limit.name());
        }
        assert_eq!(
            words(|word| word == "link"),
            ["link: a line on the way was full, or one of twice its rate would save more than all else"]
        );
    }
}
