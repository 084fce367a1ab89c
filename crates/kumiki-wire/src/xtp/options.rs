//! The options of a packet: bits 31 to 8 of the command word.

use crate::flags::flags;

flags! {
    /// Options, in the 24-bit form in which they stand in front of version and packet format.
    Options(u32) {
        /// The checksum covers the header alone.
        NOCHECK = 0x40_0000;
        /// Its changing asks for the receiver's state.
        EDGE = 0x20_0000;
        /// What is lost is not retransmitted.
        NOERR = 0x10_0000;
        /// The packet belongs to a multicast.
        MULTI = 0x08_0000;
        /// `alloc` counts only what the receiving user has granted.
        RES = 0x04_0000;
        /// The `sort` field is significant.
        SORT = 0x02_0000;
        /// `alloc` is ignored.
        NOFLOW = 0x01_0000;
        /// A gap is reported as soon as it is seen.
        FASTNAK = 0x00_8000;
        /// The receiver's state is asked for, at once.
        SREQ = 0x00_4000;
        /// The receiver's state is asked for, when the user has taken what was received.
        DREQ = 0x00_2000;
        /// The reader has all that was written, and expects no more.
        RCLOSE = 0x00_1000;
        /// The writer has written all; `seq` and the data of the packet say where the stream ends.
        WCLOSE = 0x00_0800;
        /// A message ends with the last octet of the packet.
        EOM = 0x00_0400;
        /// The sender's context is gone after this packet.
        END = 0x00_0200;
        /// A tag stands in front of the data.
        BTAG = 0x00_0100;
    }
}

impl Options {
    /// These bits, and those of `other` where `also`.
    #[must_use]
    pub const fn with_if(self, also: bool, other: Self) -> Self {
        if also { self.with(other) } else { self }
    }
}
