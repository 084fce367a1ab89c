//! What the parent makes of files and statuses.

use super::network::{is_default_route, resolver_text};
use super::*;

#[test]
fn the_resolver_is_replaced_and_the_rest_stays() {
    let host = "# by somebody\nnameserver 127.0.0.53\nnameserver 9.9.9.9\noptions edns0 trust-ad\nsearch example.org\n";
    assert_eq!(
        resolver_text(GATEWAY_4.into(), host),
        "nameserver 198.18.0.1\noptions edns0 trust-ad\nsearch example.org\n"
    );
    assert_eq!(resolver_text(GATEWAY_4.into(), ""), "nameserver 198.18.0.1\n");
}

#[test]
fn a_status_is_that_of_a_shell() {
    assert_eq!(status(Some(0), None), 0);
    assert_eq!(status(Some(7), None), 7);
    assert_eq!(status(None, Some(9)), 137);
    assert_eq!(status(None, Some(15)), 143);
    assert_eq!(status(None, None), FAILED);
}

#[test]
fn a_default_route_of_ipv6_leads_somewhere() {
    let zero = "0".repeat(32);
    let line = |to: &str, prefix: &str, by: &str| {
        format!("{to} {prefix} {zero} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     {by}")
    };
    assert!(is_default_route(&line(&zero, "00", "eth0")));
    assert!(!is_default_route(&line(&zero, "00", "lo")));
    assert!(!is_default_route(&line("fe800000000000000000000000000000", "40", "eth0")));
    assert!(!is_default_route(""));
}
