//! Elements of a PDU that lies in one piece, one after the other.

use super::element::Element;
use super::head::{Head, Length};
use super::{BerError, MOST_DEPTH, Tag};
use crate::Malformed;

/// The elements that are left of a PDU, or of one constructed element of it.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    pdu: &'static str,
    depth: u8,
}

impl<'a> Reader<'a> {
    /// The elements in `octets`. `pdu` is what errors name.
    #[must_use]
    pub const fn new(pdu: &'static str, octets: &'a [u8]) -> Self {
        Self { rest: octets, pdu, depth: 0 }
    }

    /// Elements inside another one.
    pub(super) fn inside(
        pdu: &'static str,
        field: &'static str,
        content: &'a [u8],
        depth: u8,
    ) -> Result<Self, Malformed> {
        if depth > MOST_DEPTH {
            return Err(BerError::Depth.of(pdu, field));
        }
        let rest = content;
        Ok(Self { rest, pdu, depth })
    }

    /// What errors name.
    #[must_use]
    pub const fn pdu(&self) -> &'static str {
        self.pdu
    }

    /// The same elements, and `pdu` for errors from here on: a PDU is often known only when its first tag has been
    /// seen.
    #[must_use]
    pub const fn named(self, pdu: &'static str) -> Self {
        Self { pdu, ..self }
    }

    /// Whether there are no more elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The octets of the elements that are left.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The tag of the next element; `None` where there is no more, or what follows is not one (which reading it says).
    #[must_use]
    pub fn peek(&self) -> Option<Tag> {
        Head::parse(self.rest).ok().map(|(head, _)| head.tag)
    }

    /// The next element, whatever it is; `None` behind the last one.
    ///
    /// # Errors
    /// What follows is not an element, or one that is not all there.
    pub fn next(&mut self, field: &'static str) -> Result<Option<Element<'a>>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (head, len) = Head::parse_with_content(self.rest).map_err(|fault| fault.of(self.pdu, field))?;
        if head.is_end() {
            return Err(BerError::End.of(self.pdu, field));
        }
        let (content, end) = match head.length {
            Length::Definite(content) => (content, 0),
            Length::Indefinite => {
                let inside = self.rest.get(len..).unwrap_or_default();
                let content = until_end(inside, self.depth).map_err(|fault| fault.of(self.pdu, field))?;
                (content, 2)
            }
        };
        let (octets, rest) = self.rest.split_at_checked(len + content + end).unwrap_or((self.rest, &[]));
        self.rest = rest;
        Ok(Some(Element::new(
            self.pdu,
            field,
            head.tag,
            head.constructed,
            octets,
            octets.get(len..len + content).unwrap_or_default(),
            self.depth,
        )))
    }

    /// The next element, whatever it is: one alternative of a choice. `expected` names the alternatives.
    ///
    /// # Errors
    /// There is none, or it is not all there.
    pub fn any(&mut self, field: &'static str, expected: &'static str) -> Result<Element<'a>, Malformed> {
        self.next(field)?.ok_or_else(|| {
            let found = Tag::END;
            BerError::Choice { found, expected }.of(self.pdu, field)
        })
    }

    /// The next element, which must be `tag`.
    ///
    /// # Errors
    /// It is another one, none, or not all there.
    pub fn take(&mut self, tag: Tag, field: &'static str) -> Result<Element<'a>, Malformed> {
        let before = self.rest;
        match self.next(field)? {
            Some(element) if element.tag() == tag => Ok(element),
            Some(element) => {
                self.rest = before;
                let (found, expected) = (element.tag(), tag);
                Err(BerError::Tag { found, expected }.of(self.pdu, field))
            }
            None => Err(BerError::Missing { expected: tag }.of(self.pdu, field)),
        }
    }

    /// The next element if it is `tag`: an OPTIONAL one.
    ///
    /// # Errors
    /// It is not all there.
    pub fn take_if(&mut self, tag: Tag, field: &'static str) -> Result<Option<Element<'a>>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (head, _) = Head::parse(self.rest).map_err(|fault| fault.of(self.pdu, field))?;
        if head.tag == tag { self.next(field) } else { Ok(None) }
    }

    /// As [`Reader::take_if`], read with `read`: `r.optional(Tag::context(0), "reason", Element::integer)`.
    ///
    /// # Errors
    /// It is not all there, or `read` refuses it.
    pub fn optional<T>(
        &mut self,
        tag: Tag,
        field: &'static str,
        read: impl FnOnce(&Element<'a>) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        self.take_if(tag, field)?.map(|element| read(&element)).transpose()
    }

    /// Passes over elements until one with `tag` has been read: the extensions of a later version stand between those
    /// that are known.
    ///
    /// # Errors
    /// One of them is not all there, or there is none with `tag`.
    pub fn seek(&mut self, tag: Tag, field: &'static str) -> Result<Element<'a>, Malformed> {
        while let Some(element) = self.next(field)? {
            if element.tag() == tag {
                return Ok(element);
            }
        }
        Err(BerError::Missing { expected: tag }.of(self.pdu, field))
    }

    /// Reads every element with `read`: a SEQUENCE OF or SET OF, of at most `most` elements.
    ///
    /// # Errors
    /// `read` refuses one, one is not all there, or there are more.
    pub fn each<T>(
        mut self,
        field: &'static str,
        most: usize,
        mut read: impl FnMut(&Element<'a>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut all = Vec::new();
        while let Some(element) = self.next(field)? {
            if all.len() == most {
                let (found, least) = (most.saturating_add(1), 0);
                return Err(BerError::Size { found, least, most }.of(self.pdu, field));
            }
            all.push(read(&element)?);
        }
        Ok(all)
    }

    /// Sees to it that nothing is left. Where later versions of a PDU may add elements, the rest is left alone instead.
    ///
    /// # Errors
    /// Something is.
    pub fn finish(&self, field: &'static str) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let (head, _) = Head::parse(self.rest).map_err(|fault| fault.of(self.pdu, field))?;
        Err(BerError::Left { found: head.tag }.of(self.pdu, field))
    }
}

/// How many octets of elements stand in front of the end-of-contents octets.
fn until_end(octets: &[u8], depth: u8) -> Result<usize, BerError> {
    let mut open = 1_u8;
    let mut rest = octets;
    loop {
        let (head, len) = Head::parse_with_content(rest)?;
        let past = match head.length {
            Length::Definite(_) if head.is_end() => {
                open -= 1;
                if open == 0 {
                    return Ok(octets.len() - rest.len());
                }
                len
            }
            Length::Definite(content) => len + content,
            Length::Indefinite => {
                open += 1;
                if depth.saturating_add(open) > MOST_DEPTH {
                    return Err(BerError::Depth);
                }
                len
            }
        };
        rest = rest.get(past..).unwrap_or_default();
    }
}
