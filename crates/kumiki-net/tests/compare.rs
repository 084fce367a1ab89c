//! The same programs on our sockets in virtual time, and on tokio's over the host's kernel: they see the same.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]
#![cfg(all(feature = "sim", target_os = "linux"))]

use notes::Notes;

#[path = "compare/notes.rs"]
mod notes;

/// No scenario waits for time to pass; one that takes so long hangs.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);

/// The scenarios over the sockets of `$net`, and all of them in order.
macro_rules! over {
    ($name:ident, $net:path, $($kind:ident: $($scenario:ident),*;)*) => {
        mod $name {
            use crate::notes::{self, Notes};

            mod tcp {
                use $net as net;
                include!("compare/tcp.rs");
            }

            mod udp {
                use $net as net;
                include!("compare/udp.rs");
            }

            pub(super) async fn all() -> Vec<(&'static str, Notes)> {
                let mut all = Vec::new();
                $($({
                    let mut notes = Notes::default();
                    if tokio::time::timeout(crate::TIMEOUT, $kind::$scenario(&mut notes)).await.is_err() {
                        notes.add("the rest", "never comes");
                    }
                    all.push((concat!(stringify!($kind), "::", stringify!($scenario)), notes));
                })*)*
                all
            }
        }
    };
}

macro_rules! both {
    ($($scenarios:tt)*) => {
        over!(ours, kumiki_net, $($scenarios)*);
        over!(tokios, tokio::net, $($scenarios)*);
    };
}

both! {
    tcp: connecting, binding, sockets, socket_options, stream_options, the_end_of_what_comes, the_end_of_what_goes, nothing_there,
        a_reader_that_does_not_read, after_a_reset, ways_to_be_reset, readiness, halves, accepting;
    udp: binding, sending, receiving, connected, refused, readiness, options, groups;
}

/// Where they differ: scenario and what was done; what we say; why.
const DIFFER: &[(&str, &str, &str, &str)] = &[
    (
        "udp::sending",
        "to nobody named",
        "NotConnected",
        "Linux's EDESTADDRREQ has no kind, by which a program could know it",
    ),
    ("udp::sending", "try", "NotConnected", "likewise"),
    (
        "udp::readiness",
        "refused",
        "Ready { is_readable: false, is_writable: true, is_read_closed: false, is_write_closed: false, is_error: true, is_priority: false }",
        "an error of one datagram is no end of writing, for which tokio takes any error",
    ),
];

#[test]
fn programs_see_what_they_see_with_tokio() {
    let ours = kumiki_net::sim::Net::new(1).host("alone").run(ours::all()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let theirs = runtime.block_on(tokios::all());
    let mut wrong = String::new();
    for ((scenario, Notes(ours)), (_, Notes(theirs))) in ours.iter().zip(&theirs) {
        if ours.len() != theirs.len() {
            wrong += &format!("{scenario}:\n{ours:?}\n{theirs:?}\n");
        }
        for ((what, ours), (_, theirs)) in ours.iter().zip(theirs) {
            let known = DIFFER.iter().find(|it| (it.0, it.1) == (*scenario, what.as_str()));
            let expected = known.map_or(theirs.as_str(), |it| it.2);
            if ours != expected {
                wrong += &format!("{scenario}, {what}: {ours}, and not {expected}; tokio: {theirs}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
