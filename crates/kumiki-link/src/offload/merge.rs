//! Packets become one super-segment.

use kumiki_graph::Address;
use kumiki_octets::{Checksum, Message, Meta, Sum};

use super::{ACK, CWR, ECE, Headers, PSH, before_tcp, control_bits, leave_checksum, long, narrow, word};

/// Connections of which packets can wait at the same time.
const FLOWS: usize = 8;
/// What an IP packet can hold.
const LONGEST: usize = 65_535;

/// What is known of a packet beside its octets.
pub trait Origin {
    /// Whether a packet of which `next` is known may be put to one of which this is.
    fn allows(&self, next: &Self) -> bool;

    /// That is done: what is known of both.
    fn add(&mut self, next: Self);
}

/// Of one sender.
impl Origin for Address {
    fn allows(&self, next: &Self) -> bool {
        self == next
    }

    fn add(&mut self, _: Self) {}
}

/// Packets that wait for those that follow them.
struct Flow<T> {
    origin: T,
    /// Of the first packet.
    headers: Headers,
    /// The first packet whole, and the text of those behind it.
    message: Message,
    /// Octets of text of each packet.
    size: usize,
    packets: usize,
    text: usize,
    sum: Sum,
    flags: u8,
}

/// Puts packets together: see the module above.
///
/// Give it the packets of one batch, then [`Merger::flush`] it: nothing must wait here for the next batch.
pub struct Merger<T = Address> {
    flows: Vec<Flow<T>>,
    /// Where the last packet was put.
    recent: usize,
    is_for_device: bool,
}

impl<T> Default for Merger<T> {
    fn default() -> Self {
        Self { flows: Vec::new(), recent: 0, is_for_device: false }
    }
}

impl<T> Merger<T> {
    /// One for packets that are handed to a device: only what comes one behind the other is put together, so that none
    /// change places, and only what the device cuts into the same packets again; checksums of super-segments are left
    /// for it to write.
    #[must_use]
    pub fn for_device() -> Self {
        Self { is_for_device: true, ..Self::default() }
    }
}

impl<T: Origin> Flow<T> {
    /// Whether a packet of `total` octets that begins with `front` is the next of this super-segment, but for its text.
    fn continues_with(&self, origin: &T, front: &[u8], total: usize) -> bool {
        let Headers { ip, len, .. } = self.headers;
        let next = u32::try_from(self.text).unwrap_or(0);
        let (length, at) = if ip == 20 { (total, 2) } else { (total.saturating_sub(40), 4) };
        self.headers.are_like(front)
            && long(front, ip + 4) == self.headers.seq().wrapping_add(next)
            && self.origin.allows(origin)
            && usize::from(word(front, at)) == length
            && total > len
            && total - len <= self.size
            && self.text + total <= LONGEST
            && self.headers.ip_total_of(front).is_valid()
    }

    /// Whether nothing can follow a packet of `text` octets of text.
    const fn is_complete(&self, text: usize) -> bool {
        self.flags & PSH != 0 || text < self.size || self.headers.len + self.text + self.size > LONGEST
    }

    /// The super-segment, as TCP's peer could have sent it if packets could be so long; for a device its checksum is
    /// yet to be written.
    fn whole(self, is_for_device: bool) -> (T, Message) {
        let Self { origin, headers, mut message, size, packets, text, sum, flags } = self;
        if packets > 1 {
            if message.pop(headers.len).is_ok() {
                let room = message.push_octets(headers.octets());
                let (seq, identification) = (headers.seq(), headers.identification());
                headers.write(room, seq, flags, identification, text, sum);
            }
            *message.meta_mut() = Meta {
                segment_size: narrow(size),
                header_len: narrow(headers.len),
                // Several with CWR: so did the peer send them, which only a counter does.
                ace: flags & CWR != 0,
                checksum: Checksum::Verified,
            };
            if is_for_device {
                leave_checksum(&mut message);
            }
        } else {
            message.meta_mut().checksum = Checksum::Verified;
        }
        (origin, message)
    }
}

/// Whether a packet with these control bits cannot be the first of several. ECE and CWR may be part of a counter, and
/// are the same in all that is put together.
const fn is_last(control_bits: u8) -> bool {
    control_bits & !(ECE | CWR) != ACK
}

impl<T: Origin> Merger<T> {
    /// Whether no packet waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A packet, and what else is known of it; what is complete goes to `out`.
    pub fn take(&mut self, origin: T, mut packet: Message, out: &mut impl FnMut(T, Message)) {
        let total = packet.len();
        if let Some(flow) = self.flows.get(self.recent)
            && packet.meta().segment_size == 0
            && !matches!(packet.meta().checksum, Checksum::Partial { .. })
            && let Ok(front) = packet.front(flow.headers.len.min(total))
            && flow.continues_with(&origin, front, total)
        {
            self.append(self.recent, origin, packet, out);
            return;
        }
        self.take_other(origin, packet, out);
    }

    /// As [`Merger::take`] for one that is not what comes next where the last one was.
    fn take_other(&mut self, origin: T, mut packet: Message, out: &mut impl FnMut(T, Message)) {
        let total = packet.len();
        let Meta { segment_size, checksum, .. } = *packet.meta();
        if segment_size != 0 || matches!(checksum, Checksum::Partial { .. }) {
            // From a host of this machine: put together already, and never summed.
            self.flush(out);
            out(origin, packet);
            return;
        }
        // Where nothing waits and nothing can follow, as with each packet of an exchange and whatever is no packet of
        // TCP, no more is looked at.
        let front = packet.front_at_least(40);
        if self.flows.is_empty() && (before_tcp(front).is_none() || control_bits(front).is_some_and(is_last)) {
            out(origin, packet);
            return;
        }
        let headers = Headers::read(packet.front_at_least(40), total).or_else(|| {
            // Long options are looked for only where they may be: asking for them could move text.
            Headers::ip_len(packet.front_at_least(40), total)?;
            Headers::read(packet.front_at_least(super::ROOM), total)
        });
        let Some(headers) = headers else {
            self.flush(out);
            out(origin, packet);
            return;
        };
        let mut flows = self.flows.iter();
        let known = flows.position(|flow| flow.headers.flow() == headers.flow());
        if let Some(at) = known {
            let flow = self.flows.get(at);
            if flow.is_some_and(|flow| flow.continues_with(&origin, headers.octets(), total)) {
                self.append(at, origin, packet, out);
                return;
            }
            self.release(at, out);
        }
        let is_alone = self.is_for_device && headers.flags() & CWR != 0;
        if self.is_for_device {
            self.flush(out);
        }
        let text = total - headers.len;
        if is_alone || is_last(headers.flags()) || text == 0 || !headers.ip_total_of(headers.octets()).is_valid() {
            // Nothing can follow, or only acknowledgments. What TCP will verify is not read here.
            out(origin, packet);
            return;
        }
        let sum = packet.sum_behind(headers.len).unwrap_or_default();
        if !headers.tcp_total_of(headers.octets(), text, sum).is_valid() {
            out(origin, packet);
            return;
        }
        if self.flows.len() >= FLOWS {
            self.release(0, out);
        }
        self.recent = self.flows.len();
        self.flows.push(Flow {
            origin,
            headers,
            message: packet,
            size: text,
            packets: 1,
            text,
            sum,
            flags: headers.flags(),
        });
    }

    /// Puts `packet`, whose headers have been looked at, to the flow number `at`.
    fn append(&mut self, at: usize, origin: T, mut packet: Message, out: &mut impl FnMut(T, Message)) {
        let Some(flow) = self.flows.get_mut(at) else {
            return;
        };
        let Headers { ip, len, .. } = flow.headers;
        let text = packet.len().saturating_sub(len);
        let (Ok(sum), Ok(front)) = (packet.sum_behind(len), packet.front(len)) else {
            return;
        };
        let flags = front.get(ip + 13).copied().unwrap_or_default();
        if !flow.headers.tcp_total_of(front, text, sum).is_valid() {
            self.release(at, out);
            out(origin, packet);
            return;
        }
        flow.sum = flow.sum.then(flow.text, sum);
        flow.text += text;
        flow.packets += 1;
        flow.flags |= flags;
        flow.origin.add(origin);
        let _ = flow.message.append_behind(packet, len);
        self.recent = at;
        if flow.is_complete(text) {
            self.release(at, out);
        }
    }

    /// Gives out everything that waits: the batch is over.
    pub fn flush(&mut self, out: &mut impl FnMut(T, Message)) {
        for flow in self.flows.drain(..) {
            let (origin, message) = flow.whole(self.is_for_device);
            out(origin, message);
        }
    }

    fn release(&mut self, at: usize, out: &mut impl FnMut(T, Message)) {
        let (origin, message) = self.flows.remove(at).whole(self.is_for_device);
        out(origin, message);
    }
}
