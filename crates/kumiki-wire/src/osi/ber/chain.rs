//! Elements of a value that lies in a message: a chain of slices, most of which nobody should touch.

use core::num::NonZeroUsize;

use kumiki_octets::Message;
use smallvec::SmallVec;

use super::head::{Head, Length};
use super::{BerError, MOST_DEPTH, MOST_HEAD, Tag};
use crate::Malformed;

/// The most pieces of all constructed strings that one reader joins. Each is a slice of its own, which takes more
/// memory than the few octets that somebody may put into it.
pub const MOST_PIECES: usize = 65_536;

/// Reads elements off the front of a message. Identifier and length octets are looked at, content is cut off and
/// shared.
#[derive(Clone, Debug)]
pub struct Reader {
    rest: Message,
    pdu: &'static str,
    /// The elements that have been entered and not left, the outermost first.
    open: SmallVec<[Level; 8]>,
    /// Pieces of strings that were joined.
    pieces: usize,
    /// The head of the next element and how many octets it has, once somebody has looked and until it is taken.
    next: Head,
    next_len: Option<NonZeroUsize>,
}

/// An element that has been entered.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// What is left of the message when it ends; of an indefinite one, when what is around it ends.
    floor: usize,
    indefinite: bool,
}

impl Reader {
    /// The elements in `message`. `pdu` is what errors name.
    #[must_use]
    pub fn new(pdu: &'static str, message: Message) -> Self {
        Self { rest: message, pdu, open: SmallVec::new(), pieces: 0, next: Head::END, next_len: None }
    }

    /// What has not been read.
    #[must_use]
    pub fn into_rest(self) -> Message {
        self.rest
    }

    fn floor(&self) -> usize {
        self.open.last().map_or(0, |level| level.floor)
    }

    /// Octets until what is around the next element ends.
    fn have(&self) -> usize {
        self.rest.len().saturating_sub(self.floor())
    }

    /// Reads the identifier and length octets of what comes next, of `have` octets: an element or the end of an
    /// indefinite length. They are in `next` then; gives how many they are. Nothing is taken.
    fn look(&mut self, have: usize, field: &'static str) -> Result<usize, Malformed> {
        // Identifier and length octets mostly lie together. What is gathered where they do not is no more than they
        // are: the content behind them stays where it is.
        let mut gather = 2;
        loop {
            let front = self.rest.front_at_least(have.min(gather));
            let front = front.get(..have.min(front.len())).unwrap_or_default();
            let fault = match Head::parse(front) {
                Ok((head, len)) => {
                    self.next = head;
                    match head.fits(len, have) {
                        Ok(()) => return Ok(len),
                        Err(fault) => fault,
                    }
                }
                Err(BerError::Short { need, .. }) if need <= have && gather < MOST_HEAD => {
                    gather = need;
                    continue;
                }
                Err(fault) => fault,
            };
            return Err(fault.of(self.pdu, field));
        }
    }

    /// The head of the next element; `None` at the end of what is around it. Nothing is taken.
    ///
    /// # Errors
    /// It is none, or its content is not all there.
    pub fn peek(&mut self, field: &'static str) -> Result<Option<Head>, Malformed> {
        Ok(self.ahead(field)?.map(|_| self.next))
    }

    /// As [`Reader::peek`], but gives how many octets the head has: itself it is in `next`.
    fn ahead(&mut self, field: &'static str) -> Result<Option<NonZeroUsize>, Malformed> {
        if self.next_len.is_some() {
            return Ok(self.next_len);
        }
        let indefinite = self.open.last().is_some_and(|level| level.indefinite);
        let have = self.have();
        if have == 0 && !indefinite {
            return Ok(None);
        }
        let len = self.look(have, field)?;
        if !self.next.is_end() {
            self.next_len = NonZeroUsize::new(len);
            return Ok(self.next_len);
        }
        if indefinite { Ok(None) } else { Err(BerError::End.of(self.pdu, field)) }
    }

    /// The head of the next element, which must be `tag`, and its octets.
    fn expect(&mut self, tag: Tag, field: &'static str) -> Result<(Head, usize), Malformed> {
        let pdu = self.pdu;
        let Some(len) = self.ahead(field)? else {
            return Err(BerError::Missing { expected: tag }.of(pdu, field));
        };
        let head = self.next;
        if head.tag != tag {
            let (found, expected) = (head.tag, tag);
            return Err(BerError::Tag { found, expected }.of(pdu, field));
        }
        Ok((head, len.get()))
    }

    fn pop(&mut self, n: usize, field: &'static str) -> Result<(), Malformed> {
        self.next_len = None;
        self.rest.pop(n).map_err(|short| fault(short).of(self.pdu, field))
    }

    fn split(&mut self, n: usize, field: &'static str) -> Result<Message, Malformed> {
        self.next_len = None;
        self.rest.split_to(n).map_err(|short| fault(short).of(self.pdu, field))
    }

    /// Goes into the next element, which must be `tag` and constructed: what comes next is inside it.
    ///
    /// # Errors
    /// It is another one, primitive, not all there, or too deep.
    pub fn enter(&mut self, tag: Tag, field: &'static str) -> Result<(), Malformed> {
        let (head, len) = self.expect(tag, field)?;
        if !head.constructed {
            let (found, constructed) = (tag, false);
            return Err(BerError::Form { found, constructed }.of(self.pdu, field));
        }
        if self.open.len() >= usize::from(MOST_DEPTH) {
            return Err(BerError::Depth.of(self.pdu, field));
        }
        let floor = match head.length {
            Length::Definite(content) => self.rest.len().saturating_sub(len.saturating_add(content)),
            Length::Indefinite => self.floor(),
        };
        self.pop(len, field)?;
        let indefinite = head.length == Length::Indefinite;
        self.open.push(Level { floor, indefinite });
        Ok(())
    }

    /// Goes out of the element that was entered last; all that is inside it must have been read.
    ///
    /// # Errors
    /// Something is left inside, or the end of an indefinite length is missing.
    pub fn leave(&mut self, field: &'static str) -> Result<(), Malformed> {
        if let Some(head) = self.peek(field)? {
            return Err(BerError::Left { found: head.tag }.of(self.pdu, field));
        }
        if self.open.pop().is_some_and(|level| level.indefinite) {
            self.pop(2, field)?;
        }
        Ok(())
    }

    /// Sees to it that nothing is left behind the last element.
    ///
    /// # Errors
    /// Something is.
    pub fn finish(mut self, field: &'static str) -> Result<(), Malformed> {
        match self.peek(field)? {
            Some(head) => Err(BerError::Left { found: head.tag }.of(self.pdu, field)),
            None => Ok(()),
        }
    }

    /// The whole next element, with identifier, length, and the end of an indefinite length.
    ///
    /// # Errors
    /// There is none, or it is not all there.
    pub fn element(&mut self, field: &'static str) -> Result<Message, Malformed> {
        let pdu = self.pdu;
        let Some(len) = self.ahead(field)? else {
            return Err(BerError::Choice { found: Tag::END, expected: "an element" }.of(pdu, field));
        };
        let whole = match self.next.length {
            Length::Definite(content) => len.get().saturating_add(content),
            Length::Indefinite => self.span(field)?,
        };
        self.split(whole, field)
    }

    /// Octets of the next element, which has an indefinite length.
    fn span(&self, field: &'static str) -> Result<usize, Malformed> {
        let mut inside = Self {
            rest: self.rest.share(0, self.have()).map_err(|short| fault(short).of(self.pdu, field))?,
            pdu: self.pdu,
            open: SmallVec::new(),
            pieces: 0,
            next: Head::END,
            next_len: None,
        };
        let whole = inside.rest.len();
        let mut open = 0_usize;
        loop {
            let len = inside.look(inside.have(), field)?;
            let past = match inside.next.length {
                Length::Indefinite => {
                    open += 1;
                    if self.open.len() + open > usize::from(MOST_DEPTH) {
                        return Err(BerError::Depth.of(self.pdu, field));
                    }
                    len
                }
                Length::Definite(content) => {
                    open -= usize::from(inside.next.is_end());
                    len.saturating_add(content)
                }
            };
            inside.pop(past, field)?;
            if open == 0 {
                return Ok(whole - inside.rest.len());
            }
        }
    }

    /// The next element, which must be `tag`, in one piece: for the small ones among user data. Its octets are copied,
    /// at most `most` of them.
    ///
    /// # Errors
    /// It is another one, longer, or not all there.
    pub fn small(&mut self, tag: Tag, field: &'static str, most: usize) -> Result<Vec<u8>, Malformed> {
        self.expect(tag, field)?;
        self.piece(field, most)
    }

    /// The next element, whatever it is, in one piece: as [`Reader::small`].
    ///
    /// # Errors
    /// There is none, it is longer, or not all there.
    pub fn piece(&mut self, field: &'static str, most: usize) -> Result<Vec<u8>, Malformed> {
        let element = self.element(field)?;
        if element.len() > most {
            let (found, least) = (element.len(), 2);
            return Err(BerError::Size { found, least, most }.of(self.pdu, field));
        }
        Ok(element.to_vec())
    }

    /// The next element, which must be `tag`, as INTEGER.
    ///
    /// # Errors
    /// It is another one, not all there, or of more than 64 bits.
    pub fn integer(&mut self, tag: Tag, field: &'static str) -> Result<i64, Malformed> {
        let (head, len) = self.expect(tag, field)?;
        let Length::Definite(content) = head.length else {
            let octets = self.small(tag, field, MOST_SMALL)?;
            return super::Reader::new(self.pdu, &octets).take(tag, field)?.integer();
        };
        let whole = len.saturating_add(content);
        if whole > MOST_SMALL {
            return Err(BerError::Size { found: whole, least: 2, most: MOST_SMALL }.of(self.pdu, field));
        }
        let octets = self.rest.front(whole).map_err(|short| fault(short).of(self.pdu, field))?;
        let integer = super::Reader::new(self.pdu, octets).take(tag, field)?.integer()?;
        self.pop(whole, field)?;
        Ok(integer)
    }

    /// The next element, which must be `tag`, as OBJECT IDENTIFIER.
    ///
    /// # Errors
    /// It is another one, not all there, or none.
    pub fn oid(&mut self, tag: Tag, field: &'static str) -> Result<kumiki_osi_service::Oid, Malformed> {
        let octets = self.small(tag, field, MOST_SMALL)?;
        super::Reader::new(self.pdu, &octets).take(tag, field)?.oid()
    }

    /// One more piece of a string is to be joined.
    fn join(&mut self, field: &'static str) -> Result<(), Malformed> {
        self.pieces += 1;
        if self.pieces > MOST_PIECES {
            return Err(BerError::Pieces.of(self.pdu, field));
        }
        Ok(())
    }

    /// The next element, which must be `tag`, as OCTET STRING or another string; the pieces of a constructed one are
    /// joined by sharing them.
    ///
    /// # Errors
    /// It is another one, not all there, has something else than octet strings inside, or more than [`MOST_PIECES`].
    pub fn octet_string(&mut self, tag: Tag, field: &'static str) -> Result<Message, Malformed> {
        let (head, len) = self.expect(tag, field)?;
        if let (false, Length::Definite(content)) = (head.constructed, head.length) {
            self.pop(len, field)?;
            return self.split(content, field);
        }
        self.enter(tag, field)?;
        let mut all = Message::new();
        while let Some(piece) = self.peek(field)? {
            // A piece may be in pieces itself, or have the type of the whole.
            let of = if piece.tag == tag { tag } else { Tag::OCTET_STRING };
            self.join(field)?;
            all.append(self.octet_string(of, field)?);
        }
        self.leave(field)?;
        Ok(all)
    }

    /// The next element, which must be `tag`, as BIT STRING: how many bits of the last octet are not in it, and the
    /// octets.
    ///
    /// # Errors
    /// It is another one, not all there, has unused bits elsewhere than at its end, or has something else than bit
    /// strings inside.
    pub fn bit_string(&mut self, tag: Tag, field: &'static str) -> Result<(u8, Message), Malformed> {
        let bad = |found: u8| BerError::Value {
            found: found.into(),
            expected: "0 to 7 unused bits, in the last octet of all",
        };
        let (head, len) = self.expect(tag, field)?;
        if let (false, Length::Definite(content)) = (head.constructed, head.length) {
            self.pop(len, field)?;
            let mut octets = self.split(content, field)?;
            let found = octets.len();
            let size = |_| {
                let (least, most) = (1, usize::MAX);
                BerError::Size { found, least, most }.of(self.pdu, field)
            };
            let unused = octets.front(1).map_err(size)?.first().map_or(0, |n| *n);
            let _ = octets.pop(1);
            if unused > 7 || (unused > 0 && octets.is_empty()) {
                return Err(bad(unused).of(self.pdu, field));
            }
            return Ok((unused, octets));
        }
        self.enter(tag, field)?;
        let mut all = (0, Message::new());
        while self.peek(field)?.is_some() {
            if all.0 != 0 {
                return Err(bad(all.0).of(self.pdu, field));
            }
            self.join(field)?;
            let (unused, octets) = self.bit_string(Tag::BIT_STRING, field)?;
            all.0 = unused;
            all.1.append(octets);
        }
        self.leave(field)?;
        Ok(all)
    }
}

/// An INTEGER of 64 bits, and an object identifier, with head: what `small` elements are read as.
const MOST_SMALL: usize = MOST_HEAD + kumiki_osi_service::MOST_OID_OCTETS;

fn fault(short: kumiki_octets::Short) -> BerError {
    BerError::Short { need: short.need, have: short.have }
}
