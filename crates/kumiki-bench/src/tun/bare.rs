//! An end of a connection that does what one transfer without loss needs and nothing more: the ceiling of any stack.
//!
//! Reading, it copies no octet out and acknowledges after each batch; sending, it always writes the same octets, as
//! long as the peer's window lasts. It knows no loss, no timers and no order but the right one: where a packet is lost,
//! either way, the run is given up.

use core::ops::Range;
use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsFd as _;

use kumiki_io::Tun;
use kumiki_link::offload::virtio::{Form, Header, LEN};
use kumiki_octets::Sum;
use kumiki_wire::inet::tcp::{Flags, Header as Tcp, Options, Seq};
use kumiki_wire::inet::{ipv4, virtio_net};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{LINUX, PORT, STACK, Transfer, TransferEnd, TunDirection};
use crate::load::content;

/// What the peer may send before it is acknowledged, and we send, in octets.
const WINDOW: u32 = 4 << 20;
const SCALE: u8 = 10;
/// Where nothing comes for so many seconds, something was lost: Linux, which sends again after 0.2 s and then after
/// twice as long each time, has done so three times.
const SILENCE_S: i64 = 2;
/// The most text of a super-segment.
const LONGEST: u32 = 65_000;

/// Why a run is given up.
enum Failed {
    /// A packet was lost.
    Lost,
    Other(String),
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::Other(format!("bare: {why}"))
    }
}

impl From<Errno> for Failed {
    fn from(why: Errno) -> Self {
        why.to_string().into()
    }
}

struct End<'a> {
    tun: &'a Tun,
    mss: u32,
    local: u16,
    remote: u16,
    next: Seq,
    expected: Seq,
}

/// What came, but for its text.
struct ReceivedSegment {
    tcp: Tcp,
    text: u32,
    /// Where in the buffer the text is.
    at: Range<usize>,
}

impl End<'_> {
    /// Waits until something comes.
    fn wait(&self) -> Result<(), Failed> {
        let silence = Timespec { tv_sec: SILENCE_S, tv_nsec: 0 };
        let mut descriptors = [PollFd::from_borrowed_fd(self.tun.as_fd(), PollFlags::IN)];
        match poll(&mut descriptors, Some(&silence)) {
            Ok(0) => Err(Failed::Lost),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    /// The next segment of TCP, if one is there.
    fn read(&self, buffer: &mut [u8]) -> Result<Option<ReceivedSegment>, Failed> {
        let mut front = [0; LEN];
        loop {
            let mut room = [IoSliceMut::new(&mut front), IoSliceMut::new(buffer)];
            let total = match rustix::io::readv(self.tun.as_fd(), &mut room) {
                Ok(total) => total.saturating_sub(LEN),
                Err(Errno::AGAIN) => return Ok(None),
                Err(why) => return Err(why.into()),
            };
            let packet = buffer.get(..total).unwrap_or_default();
            let Ok((ip, len)) = ipv4::Header::parse(packet, total) else {
                continue;
            };
            if ip.protocol != ipv4::protocol::TCP {
                continue;
            }
            let rest = packet.get(len..).unwrap_or_default();
            let (tcp, len) = Tcp::parse(rest, rest.len()).map_err(|why| why.to_string())?;
            let text = u32::try_from(rest.len() - len).unwrap_or(0);
            return Ok(Some(ReceivedSegment { tcp, text, at: total - (rest.len() - len)..total }));
        }
    }

    /// Writes a segment, or many as one.
    fn write(&self, flags: Flags, options: Options, text: &[u8]) -> Result<(), Failed> {
        let tcp = Tcp {
            source_port: self.local,
            destination_port: self.remote,
            seq: self.next,
            ack: self.expected,
            flags,
            window: if flags.contains(Flags::SYN) {
                u16::MAX
            } else {
                u16::try_from(WINDOW >> SCALE).unwrap_or(u16::MAX)
            },
            options,
            ..Tcp::default()
        };
        let length = u16::try_from(tcp.len() + text.len()).map_err(|_| "a segment is too long".to_owned())?;
        let ip = ipv4::Header {
            protocol: ipv4::protocol::TCP,
            dont_fragment: true,
            total_length: 20 + length,
            time_to_live: 64,
            source: STACK,
            destination: LINUX,
            ..ipv4::Header::default()
        };
        let pseudo = Sum::of(&ipv4::pseudo_header(STACK, LINUX, ipv4::protocol::TCP, length)).folded();
        let tcp = Tcp { checksum: pseudo, ..tcp };
        let mut headers = vec![0; 20 + tcp.len()];
        let (front, behind) = headers.split_at_mut(20);
        ip.emit_summed(front);
        tcp.emit(behind);
        let size = u16::try_from(self.mss).unwrap_or(u16::MAX);
        let kind = virtio_net::Kind::Tcp4;
        let segments = (text.len() > size.into()).then_some(virtio_net::Segments { kind, size, ecn: false });
        let partial = Some(virtio_net::Partial { start: 20, offset: 16 });
        let header_len = u16::try_from(headers.len()).unwrap_or(0);
        let header = Header { partial, segments, header_len, ..Header::default() };
        let mut octets = [0; LEN];
        header.emit(Form::TUN, &mut octets);
        let pieces = [IoSlice::new(&octets), IoSlice::new(&headers), IoSlice::new(text)];
        rustix::io::writev(self.tun.as_fd(), &pieces).map(drop).map_err(Failed::from)
    }
}

pub(super) fn run(tun: &Tun, transfer: Transfer) -> Result<TransferEnd, String> {
    let mss = u32::from(transfer.mtu) - 40;
    let (local, remote) = match transfer.way {
        TunDirection::In => (PORT, 0),
        TunDirection::Out => (10_000, PORT),
    };
    let mut end = End { tun, mss, local, remote, next: Seq(1), expected: Seq(0) };
    let options = Options { mss: u16::try_from(mss).ok(), window_scale: Some(SCALE), ..Options::NONE };
    let ended = match transfer.way {
        TunDirection::In => receive(&mut end, options, transfer.octets),
        TunDirection::Out => send(&mut end, options, transfer.octets),
    };
    told(ended)
}

fn told(ended: Result<(), Failed>) -> Result<TransferEnd, String> {
    match ended {
        Ok(()) => Ok(TransferEnd::Done),
        Err(Failed::Lost) => Ok(TransferEnd::Lost),
        Err(Failed::Other(why)) => Err(why),
    }
}

/// Answers on as many connections what comes, until they have ended.
pub(super) fn answer(tun: &Tun, mtu: u16, connections: usize) -> Result<TransferEnd, String> {
    let mss = u32::from(mtu) - 40;
    let options = Options { mss: u16::try_from(mss).ok(), window_scale: Some(SCALE), ..Options::NONE };
    let end = End { tun, mss, local: PORT, remote: 0, next: Seq(1), expected: Seq(0) };
    told(answer_all(end, options, connections))
}

fn answer_all(mut end: End<'_>, options: Options, connections: usize) -> Result<(), Failed> {
    let mut buffer = vec![0; 65_535];
    // What is sent next and what is expected, by the peer's port.
    let mut open = BTreeMap::new();
    let mut ended = 0;
    while ended < connections {
        end.wait()?;
        while let Some(ReceivedSegment { tcp, text, at }) = end.read(&mut buffer)? {
            end.remote = tcp.source_port;
            if tcp.flags.contains(Flags::SYN) {
                (end.next, end.expected) = (Seq(1), tcp.seq + 1);
                end.write(Flags::SYN | Flags::ACK, options, &[])?;
                open.insert(tcp.source_port, (end.next + 1, end.expected));
                continue;
            }
            let Some((next, expected)) = open.get_mut(&tcp.source_port) else {
                continue;
            };
            if tcp.seq != *expected {
                return Err(Failed::Lost);
            }
            let over = tcp.flags.contains(Flags::FIN);
            *expected += text + u32::from(over);
            (end.next, end.expected) = (*next, *expected);
            *next += text;
            if over {
                ended += 1;
                open.remove(&tcp.source_port);
                end.write(Flags::FIN | Flags::ACK, Options::NONE, buffer.get(at).unwrap_or_default())?;
            } else if text > 0 {
                end.write(Flags::PSH | Flags::ACK, Options::NONE, buffer.get(at).unwrap_or_default())?;
            }
        }
    }
    Ok(())
}

fn receive(end: &mut End<'_>, options: Options, octets: u64) -> Result<(), Failed> {
    let mut buffer = vec![0; 65_535];
    let mut got = 0;
    loop {
        end.wait()?;
        let mut came = false;
        while let Some(segment) = end.read(&mut buffer)? {
            if segment.tcp.flags.contains(Flags::SYN) {
                end.remote = segment.tcp.source_port;
                end.expected = segment.tcp.seq + 1;
                end.write(Flags::SYN | Flags::ACK, options, &[])?;
                end.next += 1;
                continue;
            }
            if segment.tcp.seq != end.expected {
                return Err(Failed::Lost);
            }
            let over = segment.tcp.flags.contains(Flags::FIN);
            got += u64::from(segment.text);
            end.expected += segment.text + u32::from(over);
            came |= segment.text > 0 || over;
            if over {
                end.write(Flags::FIN | Flags::ACK, Options::NONE, &[])?;
                return if got == octets {
                    Ok(())
                } else {
                    Err(format!("{got} octets came, expected {octets}").into())
                };
            }
        }
        if came {
            end.write(Flags::ACK, Options::NONE, &[])?;
        }
    }
}

fn send(end: &mut End<'_>, options: Options, octets: u64) -> Result<(), Failed> {
    let mut buffer = vec![0; 65_535];
    let text = content(65_535);
    let piece = LONGEST / end.mss * end.mss;
    end.write(Flags::SYN, options, &[])?;
    end.next += 1;
    let (mut left, mut scale, mut edge, mut acknowledged) = (octets, 0, end.next, end.next);
    loop {
        while left > 0 {
            let room = u32::try_from(edge.distance_from(end.next)).unwrap_or(0);
            let in_flight = u32::try_from(end.next.distance_from(acknowledged)).unwrap_or(0);
            let most = room.min(WINDOW.saturating_sub(in_flight)).min(piece);
            let len = if u64::from(most) >= left { u32::try_from(left).unwrap_or(0) } else { most / end.mss * end.mss };
            if len == 0 {
                break;
            }
            let text = text.get(..usize::try_from(len).unwrap_or(0)).unwrap_or_default();
            end.write(Flags::ACK, Options::NONE, text)?;
            end.next += len;
            left -= u64::from(len);
        }
        if left == 0 && acknowledged == end.next {
            return end.write(Flags::RST | Flags::ACK, Options::NONE, &[]);
        }
        end.wait()?;
        while let Some(ReceivedSegment { tcp, .. }) = end.read(&mut buffer)? {
            if tcp.flags.contains(Flags::SYN) {
                end.expected = tcp.seq + 1;
                scale = tcp.options.window_scale.unwrap_or(0);
                end.write(Flags::ACK, Options::NONE, &[])?;
                edge = tcp.ack + u32::from(tcp.window);
            } else {
                edge = tcp.ack + (u32::from(tcp.window) << scale);
            }
            acknowledged = tcp.ack;
        }
    }
}
