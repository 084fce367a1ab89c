//! Profiles of defaults, as data. Every value has its source beside it, or the word "assumed".

use core::net::{IpAddr, Ipv4Addr};
use kumiki_wire::inet::EcnUse;

use kumiki_graph::{Coalesce, Duration, KeepAlive};

use super::config::{
    AckRule, AckTimer, Beat, Config, EdgeRule, HalfWindow, LossDetection, PathMtu, RateReduction, Rounding, SynCookies,
    WindowUpdate,
};
use super::congestion::{Algorithm, InitialWindow};
use super::rtt;

/// The profile of this name: `modern`, `linux`, `bsd43` or `solaris23`.
#[must_use]
pub fn named(name: &str) -> Option<Config> {
    Some(match name {
        "modern" => modern(),
        "linux" => linux(),
        "bsd43" => bsd43(),
        "solaris23" => solaris23(),
        _ => return None,
    })
}

/// The names [`named`] knows.
pub const NAMES: [&str; 4] = ["modern", "linux", "bsd43", "solaris23"];

/// What the RFCs in force ask for, with the freedom they leave used as Linux does.
#[must_use]
pub const fn modern() -> Config {
    Config {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        // Assumed: enough for one core's bulk transfer, and both buffers of a connection still fit into its L2 cache.
        send_buffer: 512 * 1024,
        receive_buffer: 512 * 1024,
        // As Linux's tcp_wmem: 300 Mb/s over 100 ms.
        max_send_buffer: 4 << 20,
        max_receive_buffer: 4 << 20,
        // Assumed; Linux has an eighth of the machine's memory, which no layer here can know.
        memory: 1 << 30,
        // Assumed: one buffer cluster.
        low_water: 2048,
        send_granularity: 0,
        mss: None,
        // RFC 4821 section 7.7: the rest is as without.
        path_mtu: PathMtu::ProbeOnBlackHole,
        // As Linux's net.ipv4.route.min_pmtu.
        min_path_mtu: 552,
        // RFC 8899 section 5.1.2.
        path_mtu_base: 1200,
        // RFC 4821 section 7.3, RFC 1191 section 6.3.
        path_mtu_raise: Duration::from_secs(600),
        // RFC 9293 section 3.7.1 (MUST-15).
        default_mss: 536,
        default_mss_ipv6: 1220,
        // RFC 7323 section 5.6; Linux and BSD always do.
        header_prediction: true,
        // RFC 7323.
        timestamps: true,
        window_scaling: true,
        // RFC 2018.
        sack: true,
        // RFC 9438, as Linux.
        congestion: Algorithm::Cubic,
        // RFC 6928.
        initial_window: InitialWindow::Rfc6928,
        // RFC 3465 section 2.2.
        slow_start_limit: 2,
        // RFC 9406.
        hystart: true,
        // As Linux: agreed to and not asked for. Linux itself agrees to accurate feedback since 6.18 only where told
        // to.
        ecn: EcnUse::Passive,
        // RFC 8511 is an experiment.
        abe: false,
        // As Linux without its fair queue.
        pacing: false,
        // RFC 5681 section 4.1.
        slow_start_after_idle: true,
        // RFC 8985.
        loss_detection: LossDetection::Rack,
        tail_loss_probe: true,
        // As Linux: the longest delay of its own acknowledgments.
        max_ack_delay: Duration::from_millis(200),
        // RFC 9937.
        rate_reduction: RateReduction::Prr,
        // RFC 4015, RFC 5682.
        undo: true,
        f_rto: true,
        adapt_to_reordering: true,
        // RFC 5681 section 3.2.
        duplicate_threshold: 3,
        // RFC 6582.
        new_reno: true,
        // RFC 3042.
        limited_transmit: true,
        // RFC 9293 section 3.7.4 (SHLD-7).
        coalesce: Coalesce::Nagle,
        // RFC 9293 section 3.9.1.2: where the user's data ends.
        push_bursts: false,
        // RFC 9293 section 3.8.6.2.1.
        half_window: HalfWindow::Rfc,
        // RFC 9293 section 3.8.6.2.1: 0.1 to 1 s.
        override_timeout: Duration::from_millis(200),
        rounding: Rounding::Exact,
        // Assumed: half the buffer. Below that the edge moves with the acknowledgments of the data, and a sender that
        // the window holds back has always used more than half of it.
        window_update: WindowUpdate { segments: 0, percent: 50 },
        // RFC 9293 section 3.8.6.2.2.
        edge: EdgeRule::Rfc,
        // RFC 9293 section 3.8.6.3 (SHLD-19).
        ack: AckRule { every: 2, count_small: false, pushed: false },
        // The lower of the delays Linux uses (MUST-40, SHLD-18).
        ack_timer: AckTimer::Timeout(Duration::from_millis(40)),
        // As Linux: RTO from 200 ms to 120 s; RFC 6298 section 2.4 asks for at least 1 s.
        rto: rtt::Config::LINUX,
        slow_beat: None,
        // RFC 9293 section 3.8.3 (SHLD-10), as Linux's tcp_retries1.
        advise_after: 3,
        // As Linux's tcp_retries2, which with these RTOs is beyond 100 s (SHLD-11).
        max_retransmissions: 15,
        // RFC 9293 section 3.8.3 (MUST-23): at least 3 minutes; 1 + 2 + 4 ... + 64 + 120 s with seven.
        syn_retries: 7,
        user_timeout: None,
        // RFC 5482 section 3: off; 100 s at least (section 3.1).
        user_timeout_option: false,
        // RFC 9293 (MUST-56).
        soft_errors_end_calls: false,
        min_user_timeout: Duration::from_secs(100),
        // Assumed: a peer may ask for an hour.
        max_user_timeout: Duration::from_secs(3600),
        // RFC 9293 section 3.8.4 (MUST-25, MUST-28); interval and count as Linux.
        keep_alive: false,
        keep_alive_times: KeepAlive {
            idle: Duration::from_secs(2 * 3600),
            interval: Duration::from_secs(75),
            count: 9,
        },
        // Assumed: 3 MiB at most. Many hosts of a simulation may call at one instant, and a cookie remembers no exact
        // MSS.
        half_open: 16_384,
        // As Linux; RFC 4987 section 3.6.
        syn_cookies: SynCookies::WhenFull,
        // Assumed; RFC 5961 section 7 leaves both open.
        challenge_interval: Duration::from_millis(500),
        challenge_limit: 0,
        // Assumed: 3 MiB at most.
        time_waits: 32_768,
        // As Linux; RFC 9293 section 3.4.2 has an MSL of 2 minutes.
        time_wait: Duration::from_secs(60),
        // As Linux (tcp_fin_timeout).
        fin_wait_2: Duration::from_secs(60),
        // RFC 9293 section 3.9.2.1.
        return_routes: true,
        ttl: 0,
        tos: 0,
        trace: false,
        record: false,
    }
}

/// Linux of 2025 as it comes, where a setting here can say so: what its peers see, rather than what is fastest here.
/// The names are those of its settings (`Documentation/networking/ip-sysctl.rst`) under `net.ipv4`.
#[must_use]
pub const fn linux() -> Config {
    Config {
        // tcp_wmem: 16 KiB of what goes with the octets too, which is not counted here; it grows at once.
        send_buffer: 256 * 1024,
        // tcp_rmem and its window: what a SYN can show without scaling, and no more than that (since 4.20).
        receive_buffer: 65_535,
        max_send_buffer: 4 << 20,
        max_receive_buffer: 6 << 20,
        // tcp_mtu_probing = 0.
        path_mtu: PathMtu::Icmp,
        // tcp_slow_start(): as much as was acknowledged.
        slow_start_limit: u32::MAX,
        // Its CUBIC has the older HyStart, which judges rounds otherwise.
        hystart: false,
        // tcp_nagle_check(): Minshall's.
        coalesce: Coalesce::Minshall,
        // __tcp_transmit_skb(), since 5.5.
        push_bursts: true,
        // Assumed (tcp_enter_quickack_mode()): a connection begins by acknowledging each segment at once, and goes on
        // so until both sides are seen to write. That change of rule is left out.
        ack: AckRule { every: 1, count_small: true, pushed: true },
        // tcp_syn_retries = 6 (tcp_synack_retries = 5 is the answer's).
        syn_retries: 6,
        // tcp_v4_err(): in SYN-SENT and SYN-RECEIVED any error of ICMP ends the call.
        soft_errors_end_calls: true,
        // accept_source_route = 0.
        return_routes: false,
        ..modern()
    }
}

/// 4.3BSD, as its descriptions tell; what they leave open is marked.
#[must_use]
pub const fn bsd43() -> Config {
    Config {
        // Stevens, TCP/IP Illustrated vol. 1 section 20.4: 4096 octets both ways.
        send_buffer: 4096,
        receive_buffer: 4096,
        // Nothing tunes itself, and nobody counts.
        max_send_buffer: 0,
        max_receive_buffer: 0,
        memory: 0,
        // Assumed: MCLBYTES of the later 4.3BSD socket layer.
        low_water: 2048,
        // Assumed: output runs after each cluster.
        send_granularity: 1024,
        // RFC 1122 section 4.2.2.6.
        default_mss: 536,
        default_mss_ipv6: 1220,
        // RFC 4821 is younger. RFC 1191 is too, but no scenario of the papers has an MTU to find out.
        path_mtu: PathMtu::Icmp,
        // RFC 1323 is younger.
        timestamps: false,
        window_scaling: false,
        sack: false,
        // The Reno release; RFC 2001.
        congestion: Algorithm::NewReno,
        // RFC 2001 section 1.
        initial_window: InitialWindow::Segments(1),
        // RFC 2001: one segment for each acknowledgment.
        slow_start_limit: 1,
        // RFC 9406 is younger.
        hystart: false,
        // So is RFC 3168.
        ecn: EcnUse::Off,
        // Assumed: the Reno release starts over after an idle time.
        slow_start_after_idle: true,
        // RFC 8985 is younger.
        loss_detection: LossDetection::Sack,
        tail_loss_probe: false,
        rate_reduction: RateReduction::AtOnce,
        undo: false,
        f_rto: false,
        adapt_to_reordering: false,
        duplicate_threshold: 3,
        // RFC 6582 is younger.
        new_reno: false,
        limited_transmit: false,
        // RFC 896.
        coalesce: Coalesce::Nagle,
        // Assumed: at least half of the largest window goes whatever is in flight.
        half_window: HalfWindow::Always,
        // Assumed: the persist timer's least value serves as override timeout.
        override_timeout: Duration::from_secs(1),
        rounding: Rounding::Exact,
        // Two segments or 35 % of the buffer: recalled, see the testbed facts on paper 5.
        window_update: WindowUpdate { segments: 2, percent: 35 },
        // Assumed.
        edge: EdgeRule::Bsd,
        // Assumed: no counting; the window update of two segments acknowledges every second one in a bulk transfer.
        ack: AckRule { every: 0, count_small: false, pushed: false },
        // Stevens vol. 1 section 19.3: 200 ms, counted from when the kernel started.
        ack_timer: AckTimer::Heartbeat(Beat { period: Duration::from_millis(200), phase: None }),
        // Stevens vol. 1 section 21: ticks of 500 ms, at least 1 s, at most 64 s, 6 s at first.
        rto: rtt::Config::BSD,
        slow_beat: Some(Beat { period: Duration::from_millis(500), phase: None }),
        // Stevens vol. 1 section 21.2: twelve retransmissions.
        max_retransmissions: 12,
        // Stevens vol. 1 section 18.5: 75 s, which with 6 and 24 s is three SYNs.
        syn_retries: 2,
        // RFC 4987 is younger.
        syn_cookies: SynCookies::Never,
        // RFC 793 has no such limit.
        fin_wait_2: Duration::ZERO,
        // Stevens vol. 1 section 18.6: 2 MSL of 30 s each.
        time_wait: Duration::from_secs(60),
        ..modern()
    }
}

/// Solaris 2.3, as paper 5 met it. What the paper does not say is assumed.
#[must_use]
pub const fn solaris23() -> Config {
    Config {
        // Paper 5: 4 and 8 KB buffers; 8 KB assumed as the default.
        send_buffer: 8192,
        receive_buffer: 8192,
        // Assumed.
        low_water: 2048,
        // Assumed: the stream head hands data over whole.
        send_granularity: 0,
        // Assumed: at least one MSS, rounded up to whole ones. With an MSS above the buffer this is one of the
        // rules that give paper 5's collapse.
        rounding: Rounding::Up,
        // Assumed: no half-window rule.
        half_window: HalfWindow::Off,
        // Assumed.
        window_update: WindowUpdate { segments: 2, percent: 50 },
        edge: EdgeRule::Rfc,
        // Assumed: every second full segment.
        ack: AckRule { every: 2, count_small: false, pushed: false },
        // Recalled: tcp_deferred_ack_interval of 50 ms.
        ack_timer: AckTimer::Timeout(Duration::from_millis(50)),
        // Recalled: tcp_rexmit_interval_min of 200 ms, _max of 60 s, _initial of 500 ms.
        rto: rtt::Config {
            initial: Duration::from_millis(500),
            minimum: Duration::from_millis(200),
            maximum: Duration::from_secs(60),
            granularity: Duration::from_millis(10),
            tick: Duration::ZERO,
        },
        slow_beat: None,
        // Recalled: tcp_close_wait_interval of 240 s.
        time_wait: Duration::from_secs(240),
        ..bsd43()
    }
}
