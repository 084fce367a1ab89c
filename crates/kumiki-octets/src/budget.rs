//! One budget of memory for many callers: what each of them may have of a process, and who is refused first.
//!
//! Whoever serves many makes a [`Budget`], and an [`Account`] of it for each caller. What a caller's octets take is
//! claimed there before it is kept, and the [`Claim`] ends with what it was made for. A budget is an object: what has
//! none is bounded by nothing but its own limits, and what one decides depends on nothing but the order in which it was
//! asked.
//!
//! **Who is refused.** A caller is a *stranger* until [`Account::stand`] says that its association (or call) stands.
//!
//! | used | strangers | callers that stand |
//! |---|---|---|
//! | up to half | get what they ask for | get what they ask for |
//! | over half | get nothing more; those who come are told so ([`Account::is_short`]) | get what they ask for |
//! | over three quarters | are turned away as they come ([`Budget::account`]) | get what they ask for |
//! | all | the largest is sent away, and then the next one, until there is room ([`Account::is_sent_away`]) | are refused where no stranger is left |
//!
//! What a stranger that is sent away had counts as free at once, though it takes a moment to go: so much more than the
//! budget can be in use meanwhile.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// There is not so much memory left in the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the budget of memory is used up")
    }
}

impl core::error::Error for NoMemory {}

/// How a caller is told that it is sent away: rings its thread's bell.
pub type Bell = Box<dyn Fn() + Send + Sync>;

struct Book {
    used: u64,
    stands: bool,
    is_sent_away: bool,
    bell: Option<Arc<Bell>>,
}

struct Books {
    most: u64,
    /// Of all, those that are leaving among them.
    used: u64,
    /// Of those that were sent away.
    leaving: u64,
    next: u64,
    /// By their numbers, in the order in which they came.
    accounts: BTreeMap<u64, Book>,
    refused: u64,
    sent_away: u64,
}

impl Books {
    /// What is used, but for what is about to be free.
    const fn staying(&self) -> u64 {
        self.used.saturating_sub(self.leaving)
    }

    const fn fits(&self, octets: u64, limit: u64) -> bool {
        self.staying().saturating_add(octets) <= limit
    }

    const fn half(&self) -> u64 {
        self.most / 2
    }

    const fn three_quarters(&self) -> u64 {
        self.most / 4 * 3
    }

    /// Sends the largest stranger away; of equals, who came first. None where there is none, or it has nothing.
    fn send_one_away(&mut self) -> Option<Option<Arc<Bell>>> {
        let strangers =
            self.accounts.iter_mut().filter(|(_, book)| !book.stands && !book.is_sent_away && book.used > 0);
        let (_, book) = strangers.max_by_key(|(number, book)| (book.used, core::cmp::Reverse(**number)))?;
        book.is_sent_away = true;
        self.leaving = self.leaving.saturating_add(book.used);
        self.sent_away += 1;
        Some(book.bell.clone())
    }
}

/// Memory that many callers share; a clone is the same budget.
#[derive(Clone)]
pub struct Budget(Arc<Mutex<Books>>);

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let books = self.books();
        write!(f, "Budget({} of {} octets)", books.used, books.most)
    }
}

impl Budget {
    /// A budget of `most` octets.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self(Arc::new(Mutex::new(Books {
            most,
            used: 0,
            leaving: 0,
            next: 0,
            accounts: BTreeMap::new(),
            refused: 0,
            sent_away: 0,
        })))
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many octets there are.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.books().most
    }

    /// How many are used, those of callers that are leaving among them.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.books().used
    }

    /// How often somebody was refused: a caller as it came, or what it asked for.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.books().refused
    }

    /// How many strangers were sent away.
    #[must_use]
    pub fn sent_away(&self) -> u64 {
        self.books().sent_away
    }

    /// An account for a caller that comes, which costs `fee` octets by itself: a stranger.
    ///
    /// # Errors
    /// [`NoMemory`] where more than three quarters of the budget would be used.
    pub fn account(&self, fee: u64) -> Result<Account, NoMemory> {
        let mut books = self.books();
        if !books.fits(fee, books.three_quarters()) {
            books.refused += 1;
            return Err(NoMemory);
        }
        let number = books.next;
        books.next += 1;
        books.used += fee;
        let book = Book { used: fee, stands: false, is_sent_away: false, bell: None };
        books.accounts.insert(number, book);
        drop(books);
        Ok(Account(Arc::new(Holder { budget: self.clone(), number })))
    }

    /// Takes `octets` for the caller of this number.
    fn take(&self, number: u64, octets: u64, stand: bool) -> Result<(), NoMemory> {
        let mut bells = Vec::new();
        let mut books = self.books();
        let Some(book) = books.accounts.get_mut(&number) else {
            return Err(NoMemory);
        };
        let is_sent_away = book.is_sent_away;
        let stood = book.stands;
        book.stands = stood || stand;
        let limit = if stood || stand { books.most } else { books.half() };
        while !is_sent_away
            && (stood || stand)
            && !books.fits(octets, limit)
            && let Some(bell) = books.send_one_away()
        {
            bells.extend(bell);
        }
        let fits = !is_sent_away && books.fits(octets, limit);
        if fits {
            books.used = books.used.saturating_add(octets);
        } else {
            books.refused += 1;
        }
        if let Some(book) = books.accounts.get_mut(&number) {
            if fits {
                book.used = book.used.saturating_add(octets);
            } else {
                book.stands = stood;
            }
        }
        drop(books);
        // Who is told may ask for something at once.
        for bell in bells {
            bell();
        }
        if fits { Ok(()) } else { Err(NoMemory) }
    }

    fn give(&self, number: u64, octets: u64) {
        let mut books = self.books();
        books.used = books.used.saturating_sub(octets);
        let Some(book) = books.accounts.get_mut(&number) else {
            return;
        };
        book.used = book.used.saturating_sub(octets);
        if book.is_sent_away {
            books.leaving = books.leaving.saturating_sub(octets);
        }
    }
}

/// What ends an account: nobody has it any more, nor a claim of it.
struct Holder {
    budget: Budget,
    number: u64,
}

impl Drop for Holder {
    fn drop(&mut self) {
        let left = {
            let books = self.budget.books();
            books.accounts.get(&self.number).map(|book| book.used)
        };
        self.budget.give(self.number, left.unwrap_or(0));
        let gone = self.budget.books().accounts.remove(&self.number);
        // Its bell may be somebody's last.
        drop(gone);
    }
}

/// What one caller has of a budget; a clone is the same account. It ends with its last clone and its last [`Claim`].
#[derive(Clone)]
pub struct Account(Arc<Holder>);

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({} octets)", self.used())
    }
}

impl Account {
    fn book<T>(&self, look: impl FnOnce(&Books, &Book) -> T) -> Option<T> {
        let books = self.0.budget.books();
        let book = books.accounts.get(&self.0.number)?;
        Some(look(&books, book))
    }

    /// Octets that it has.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.book(|_, book| book.used).unwrap_or(0)
    }

    /// An account of its own for a caller that comes by the same way, as of a program that serves many in one graph; as
    /// [`Budget::account`].
    ///
    /// # Errors
    /// As [`Budget::account`]; [`NoMemory`] also where that one would be short from the beginning.
    pub fn beside(&self, fee: u64) -> Result<Self, NoMemory> {
        let account = self.0.budget.account(fee)?;
        if account.is_short() {
            self.0.budget.books().refused += 1;
            return Err(NoMemory);
        }
        Ok(account)
    }

    /// `bell` is rung when the caller is sent away.
    pub fn on_sent_away(&self, bell: Bell) {
        if let Some(book) = self.0.budget.books().accounts.get_mut(&self.0.number) {
            book.bell = Some(Arc::new(bell));
        }
    }

    /// What the caller asked for stands: it is no stranger any more, and from here on costs `fee` octets more.
    ///
    /// # Errors
    /// [`NoMemory`] where the budget has not so much; it is a stranger as before.
    pub fn stand(&self, fee: u64) -> Result<(), NoMemory> {
        self.0.budget.take(self.0.number, fee, true)
    }

    /// Whether it gets nothing new: a stranger, where more than half of the budget is used.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let short = self.book(|books, book| book.is_sent_away || !book.stands && books.staying() > books.half());
        short.unwrap_or(true)
    }

    /// Whether it is to go, for others need what it has.
    #[must_use]
    pub fn is_sent_away(&self) -> bool {
        self.book(|_, book| book.is_sent_away).unwrap_or(true)
    }

    /// Claims `octets`.
    ///
    /// # Errors
    /// [`NoMemory`] where the caller is not to have so much more.
    pub fn claim(&self, octets: u64) -> Result<Claim, NoMemory> {
        self.0.budget.take(self.0.number, octets, false)?;
        Ok(Claim { holder: Arc::clone(&self.0), octets })
    }
}

/// Octets that a caller has claimed; they are free when it is dropped.
pub struct Claim {
    holder: Arc<Holder>,
    octets: u64,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claim({} octets)", self.octets)
    }
}

impl Claim {
    /// How many octets these are.
    #[must_use]
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// Claims as many more as are needed for `octets` in all.
    ///
    /// # Errors
    /// [`NoMemory`], and it is as it was.
    pub fn grow_to(&mut self, octets: u64) -> Result<(), NoMemory> {
        let more = octets.saturating_sub(self.octets);
        if more > 0 {
            self.holder.budget.take(self.holder.number, more, false)?;
            self.octets = octets;
        }
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.holder.budget.give(self.holder.number, self.octets);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_claimed_is_free_again_when_its_last_holder_is_gone() {
        let budget = Budget::new(1000);
        let account = budget.account(10).unwrap();
        let claim = account.claim(90).unwrap();
        assert_eq!((budget.used(), account.used()), (100, 100));
        // The claim outlives the account, and the fee stays until then.
        drop(account);
        assert_eq!(budget.used(), 100);
        drop(claim);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn over_half_strangers_get_nothing_more_and_those_who_stand_do() {
        let budget = Budget::new(1000);
        let (stranger, known) = (budget.account(0).unwrap(), budget.account(0).unwrap());
        known.stand(0).unwrap();
        let held = known.claim(450).unwrap();
        let own = stranger.claim(50).unwrap();
        assert!(!stranger.is_short());
        assert!(stranger.claim(1).is_err() && known.claim(1).is_ok());
        let more = known.claim(100).unwrap();
        assert!(stranger.is_short() && !known.is_short());
        // Who comes is still taken in, to be told.
        let late = budget.account(100).unwrap();
        assert!(late.is_short());
        assert!(budget.account(100).is_err());
        drop((held, own, more));
        assert!(!late.is_short() && stranger.claim(1).is_ok());
    }

    #[test]
    fn when_all_is_used_the_largest_stranger_goes_first() {
        let budget = Budget::new(1000);
        let rung = Arc::new(AtomicU32::new(0));
        let known = budget.account(0).unwrap();
        known.stand(0).unwrap();
        let strangers: Vec<Account> = (0..3).map(|_| budget.account(10).unwrap()).collect();
        for (stranger, by) in strangers.iter().zip([1, 100, 10_000]) {
            let rung = Arc::clone(&rung);
            stranger.on_sent_away(Box::new(move || {
                rung.fetch_add(by, Ordering::SeqCst);
            }));
        }
        let large = strangers[1].claim(200).unwrap();
        let _held = known.claim(700).unwrap();
        let _more = known.claim(250).unwrap();
        let gone: Vec<bool> = strangers.iter().map(Account::is_sent_away).collect();
        assert_eq!((gone, rung.load(Ordering::SeqCst)), (vec![false, true, false], 100));
        assert!(strangers[1].claim(1).is_err());
        // The others only where that is not enough: first who came first.
        let _rest = known.claim(40).unwrap();
        assert!(strangers[0].is_sent_away() && !strangers[2].is_sent_away());
        assert!(known.claim(11).is_err(), "{budget:?}");
        drop(large);
        drop(strangers);
        assert_eq!((budget.used(), budget.sent_away()), (990, 3));
    }

    #[test]
    fn who_cannot_stand_stays_a_stranger() {
        let budget = Budget::new(1000);
        let (known, late) = (budget.account(0).unwrap(), budget.account(0).unwrap());
        known.stand(950).unwrap();
        assert!(late.stand(100).is_err());
        assert!(late.is_short() && !late.is_sent_away());
        assert!(late.stand(50).is_ok());
    }

    proptest! {
        /// Whatever is asked for in whatever order: those that stay never have more than the budget, strangers never
        /// take more than half, and in the end nothing is used.
        #[test]
        fn books_balance(
            steps in prop::collection::vec((0usize..6, 0u8..5, 0u64..400), 1..200),
        ) {
            let budget = Budget::new(1000);
            let mut accounts: Vec<Account> = Vec::new();
            let mut claims: Vec<(Account, Claim)> = Vec::new();
            for (which, what, octets) in steps {
                let count = accounts.len().max(1);
                match (what, accounts.get(which % count)) {
                    (0, _) | (_, None) => accounts.extend(budget.account(octets / 8)),
                    (1, Some(it)) => { let _ = it.stand(octets / 8); }
                    (2, Some(it)) => {
                        let before = budget.used();
                        let stands = it.book(|_, book| book.stands).unwrap();
                        if let Ok(claim) = it.claim(octets) {
                            prop_assert!(stands || before - budget.books().leaving + octets <= 500);
                            claims.push((it.clone(), claim));
                        }
                    }
                    (3, Some(_)) => { accounts.swap_remove(which % count); }
                    _ => {
                        if !claims.is_empty() {
                            claims.swap_remove(which % claims.len());
                        }
                    }
                }
                let books = budget.books();
                prop_assert!(books.staying() <= books.most);
                let sum: u64 = books.accounts.values().map(|book| book.used).sum();
                prop_assert_eq!(sum, books.used);
                let away = books.accounts.values().filter(|book| book.is_sent_away);
                prop_assert_eq!(away.map(|book| book.used).sum::<u64>(), books.leaving);
            }
            drop((accounts, claims));
            let books = budget.books();
            prop_assert_eq!((books.used, books.leaving, books.accounts.len()), (0, 0, 0));
        }
    }
}
