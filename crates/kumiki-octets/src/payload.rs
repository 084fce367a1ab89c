//! What may carry a message.

use core::any::Any;
use core::fmt::Debug;

use crate::Message;

/// What layers may hand to each other as it is, whoever stands between them knowing of it nothing but whether user data
/// goes with it.
pub trait Payload: Any + Debug + Clone + Send {
    /// The user data that it carries, for accounts and captures.
    fn payload(&self) -> Option<&Message> {
        None
    }
}
