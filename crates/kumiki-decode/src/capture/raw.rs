//! The octets themselves: one packet, or cells of 53 octets one after the other.

use std::io::Read;

use kumiki_wire::atm::cell::CELL_LEN;

use super::source::{ReadPosition, Source};
use super::{Format, Link, MOST_OCTETS, Record, Unreadable};

pub(super) struct Reader {
    layer: &'static str,
}

impl Reader {
    pub(super) const fn new(layer: &'static str) -> Self {
        Self { layer }
    }

    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>, number: u64) -> Result<Option<Record>, Unreadable> {
        let place = ReadPosition { format: Format::Raw, packet: number, what: "a cell", began: source.offset() };
        let octets = if self.layer == "cells" {
            match source.take(CELL_LEN, &place)? {
                Some(octets) => octets,
                None => return Ok(None),
            }
        } else {
            let octets = source.peek(MOST_OCTETS)?.to_vec();
            source.skip(octets.len());
            if octets.is_empty() {
                return Ok(None);
            }
            if !source.peek(1)?.is_empty() {
                return Err(place.wrong(format!("more than {MOST_OCTETS} octets"), "one packet, or a capture"));
            }
            octets
        };
        Ok(Some(Record {
            number,
            file_offset: place.began,
            link: Link::Named(self.layer),
            original_len: octets.len(),
            octets,
            ..Record::default()
        }))
    }
}
