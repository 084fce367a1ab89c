//! What one service has and no other.

use core::any::Any;
use core::fmt;

use kumiki_octets::{Message, Payload};

/// A primitive of one service, or what only its layers ask and tell each other.
///
/// Whoever speaks the service owns the type and takes it out by its name. The graph knows of it whether a message goes
/// with it.
///
/// ```
/// use kumiki_graph::Special;
/// use kumiki_octets::Payload;
///
/// #[derive(Clone, PartialEq, Debug)]
/// struct Confirm(u32);
/// impl Payload for Confirm {}
///
/// let what = Special::new(Confirm(3));
/// assert_eq!(what.get(), Some(&Confirm(3)));
/// assert_eq!(what.take::<Confirm>().as_deref(), Some(&Confirm(3)));
/// ```
pub struct Special(Box<dyn PayloadObject>);

/// [`Payload`], as an object.
trait PayloadObject: Any + fmt::Debug + Send {
    fn cloned(&self) -> Box<dyn PayloadObject>;
    fn message(&self) -> Option<&Message>;
}

impl<T: Payload> PayloadObject for T {
    fn cloned(&self) -> Box<dyn PayloadObject> {
        Box::new(self.clone())
    }

    fn message(&self) -> Option<&Message> {
        self.payload()
    }
}

impl Special {
    /// `what`, to be taken out by its type.
    #[must_use]
    pub fn new(what: impl Payload) -> Self {
        Self(Box::new(what))
    }

    /// Whether it is a `T`.
    #[must_use]
    pub fn is<T: Payload>(&self) -> bool {
        self.get::<T>().is_some()
    }

    /// It, if it is a `T`.
    #[must_use]
    pub fn get<T: Payload>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// It, if it is a `T`; whatever else it is, is gone.
    #[must_use]
    pub fn take<T: Payload>(self) -> Option<Box<T>> {
        let any: Box<dyn Any> = self.0;
        any.downcast().ok()
    }

    /// The user data that goes with it.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        self.0.message()
    }
}

impl Clone for Special {
    fn clone(&self) -> Self {
        Self(self.0.cloned())
    }
}

impl fmt::Debug for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What one service says of a unit, or when a session begins, beside what all say: of a type that is the service's, or
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Option<Special>);

impl Parameters {
    /// Nothing.
    pub const NONE: Self = Self(None);

    /// `what`.
    #[must_use]
    pub fn of(what: impl Payload) -> Self {
        Self(Some(Special::new(what)))
    }

    /// Whether nothing is said.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// What is said, if it is a `T`.
    #[must_use]
    pub fn get<T: Payload>(&self) -> Option<&T> {
        self.0.as_ref()?.get()
    }

    /// Takes what is said out, if it is a `T`; leaves it otherwise.
    pub fn take<T: Payload>(&mut self) -> Option<Box<T>> {
        self.0.take_if(|it| it.is::<T>())?.take()
    }
}

impl<T: Payload> From<Box<T>> for Parameters {
    fn from(what: Box<T>) -> Self {
        Self(Some(Special(what)))
    }
}

impl<T: Payload> From<Option<Box<T>>> for Parameters {
    fn from(what: Option<Box<T>>) -> Self {
        Self(what.map(|it| Special(it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Debug)]
    struct Titled(Message);

    impl Payload for Titled {
        fn payload(&self) -> Option<&Message> {
            Some(&self.0)
        }
    }

    #[derive(Clone, PartialEq, Debug)]
    struct Other;

    impl Payload for Other {}

    #[test]
    fn parameters_stay_for_whoever_knows_their_type() {
        let mut parameters = Parameters::of(Other);
        assert_eq!(parameters.take::<Titled>(), None);
        assert_eq!(parameters.get(), Some(&Other));
        assert_eq!(parameters.take::<Other>().as_deref(), Some(&Other));
        assert!(parameters.is_none());
    }

    #[test]
    fn the_message_of_a_special_is_found() {
        let special = Special::new(Titled(Message::from_octets(b"abc")));
        assert_eq!(special.clone().message().map(Message::len), Some(3));
        assert!(Special::new(Other).message().is_none());
        assert!(special.take::<Other>().is_none());
    }
}
