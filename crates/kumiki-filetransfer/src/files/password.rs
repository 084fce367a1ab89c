//! Users and their passwords, from a file: a line `name:pbkdf2-sha256:rounds:salt:hash` for each, salt and hash in
//! hexadecimal.

use std::collections::BTreeMap;
use std::path::Path;

use kumiki_files::filestore::{Login, StoreError, User};
use kumiki_live::{private, refusal};
use sha2::Sha256;
use thiserror::Error;

/// How a line begins behind the name.
const SCHEME: &str = "pbkdf2-sha256";

/// The most rounds: more would let a file stop the responder for minutes.
const MOST_ROUNDS: u32 = 10_000_000;

/// One password, as it is kept.
#[derive(Clone, PartialEq, Eq)]
struct PasswordEntry {
    rounds: u32,
    salt: Vec<u8>,
    hash: [u8; 32],
}

/// Who is let in.
#[derive(Clone, PartialEq, Eq)]
pub struct Passwords {
    users: BTreeMap<Vec<u8>, PasswordEntry>,
    anonymous: bool,
}

impl core::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Passwords({} users)", self.users.len())
    }
}

/// Malformed line in a password file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: write NAME:{SCHEME}:ROUNDS:SALT:HASH, salt and hash in hexadecimal, hash of 32 octets")]
pub struct BadPasswords {
    /// Its number, from 1.
    pub line: usize,
}

/// Derives a hash of a password with a salt in so many rounds.
type Derive<'a> = dyn FnMut(&[u8], &[u8], u32) -> [u8; 32] + 'a;

impl Passwords {
    /// Everybody, whatever the name and password.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self { users: BTreeMap::new(), anonymous: true }
    }

    /// Whether that is so.
    #[must_use]
    pub const fn is_anonymous(&self) -> bool {
        self.anonymous
    }

    /// Those of a file. Empty lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, BadPasswords> {
        let mut users = BTreeMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let (name, kept) = parse_line(text).ok_or(BadPasswords { line })?;
            users.insert(name, kept);
        }
        Ok(Self { users, anonymous: false })
    }

    /// Those of the file `path`, which nobody else may read: of these users, or of all where none is named.
    ///
    /// # Errors
    /// It cannot be read, a line of it is malformed, or a user is not there.
    pub fn read(path: &Path, users: &[String]) -> Result<Self, String> {
        let text = private::read(path).map_err(|why| refusal::words(path, &why, refusal::Access::Read))?;
        let passwords = Self::parse(&text).map_err(|why| why.to_string())?;
        if users.is_empty() {
            return Ok(passwords);
        }
        passwords.only(users).map_err(|name| format!("there is no user {name:?}"))
    }

    /// Only these of the users.
    ///
    /// # Errors
    /// The first that is not there.
    pub fn only(mut self, names: &[String]) -> Result<Self, String> {
        let known = |name: &&String| !self.users.contains_key(name.as_bytes());
        if let Some(missing) = names.iter().find(known) {
            return Err(missing.clone());
        }
        let wanted = |user: &[u8]| names.iter().any(|name| name.as_bytes() == user);
        self.users.retain(|user, _| wanted(user));
        Ok(self)
    }

    /// Who this is.
    ///
    /// # Errors
    /// [`StoreError::login`], after as many rounds whoever it is: by the time that it takes nobody learns who is known,
    /// nor whose password has few rounds.
    pub fn authenticate(&self, login: &Login<'_>) -> Result<User, StoreError> {
        self.authenticate_by(login, &mut derive)
    }

    fn authenticate_by(&self, login: &Login<'_>, derive: &mut Derive<'_>) -> Result<User, StoreError> {
        let name = login.initiator.cloned().unwrap_or_default();
        if self.anonymous {
            return Ok(User { name });
        }
        let given = login.password.map(|it| it.octets()).unwrap_or_default();
        let known = self.users.get(name.octets());
        let all = self.users.values().map(|kept| kept.rounds);
        let most = all.max().unwrap_or(1);
        let stranger = PasswordEntry { rounds: most, salt: Vec::new(), hash: [0; 32] };
        let kept = known.unwrap_or(&stranger);
        let hash = derive(given, &kept.salt, kept.rounds);
        // What others would have taken longer, and one round for everybody, so that it is twice for all.
        core::hint::black_box(derive(given, &kept.salt, most - kept.rounds + 1));
        // All octets are looked at, whichever differs.
        let pairs = hash.iter().zip(&kept.hash);
        let differs = pairs.fold(0, |differs, (a, b)| differs | (a ^ b));
        if known.is_some() && differs == 0 { Ok(User { name }) } else { Err(StoreError::login()) }
    }
}

/// The line of a password file for this user.
#[must_use]
pub fn hash(name: &str, password: &[u8], salt: &[u8], rounds: u32) -> String {
    let hex = |octets: &[u8]| -> String { octets.iter().map(|it| format!("{it:02x}")).collect() };
    let hash = derive(password, salt, rounds);
    format!("{name}:{SCHEME}:{rounds}:{}:{}", hex(salt), hex(&hash))
}

fn derive(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let mut hash = [0; 32];
    pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, rounds, &mut hash);
    hash
}

fn parse_line(line: &str) -> Option<(Vec<u8>, PasswordEntry)> {
    // From behind, as names may have colons.
    let mut parts = line.trim_end().rsplitn(5, ':');
    let hash = octets(parts.next()?)?.try_into().ok()?;
    let salt = octets(parts.next()?)?;
    let rounds = parts.next()?.parse().ok()?;
    let scheme = parts.next()?;
    let name = parts.next()?.as_bytes().to_vec();
    let fits = scheme == SCHEME && (1..=MOST_ROUNDS).contains(&rounds);
    fits.then_some((name, PasswordEntry { rounds, salt, hash }))
}

fn octets(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    let starts = (0..hex.len()).step_by(2);
    let mut pairs = starts.map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
    pairs.by_ref().collect()
}

#[cfg(test)]
mod tests {
    use kumiki_osi_service::ftam::{GraphicString, Password};

    use super::*;

    #[test]
    fn everybody_costs_the_same_number_of_rounds() {
        let lines =
            [("few", 10), ("many", 600), ("some", 100)].map(|(name, rounds)| hash(name, b"right", b"salt", rounds));
        let passwords = Passwords::parse(&lines.join("\n")).unwrap();
        for (name, password, is_let_in) in [
            ("few", "right", true),
            ("many", "right", true),
            ("some", "wrong", false),
            ("few", "wrong", false),
            ("nobody", "right", false),
            ("", "", false),
        ] {
            let (user, given) =
                (GraphicString::from(name.as_bytes()), Password::Text(GraphicString::from(password.as_bytes())));
            let login = Login { initiator: Some(&user), password: Some(&given), ..Login::default() };
            let (mut calls, mut all) = (0, 0);
            let mut counted = |password: &[u8], salt: &[u8], rounds| {
                (calls, all) = (calls + 1, all + rounds);
                derive(password, salt, rounds)
            };
            let done = passwords.authenticate_by(&login, &mut counted);
            assert_eq!((done.is_ok(), calls, all), (is_let_in, 2, 601), "{name}");
        }
    }
}
