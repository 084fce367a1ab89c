//! What the program of a host comes to.

/// What a program of [`Host::start`](super::Host::start) may return: nothing, or what has failed. One that goes on for
/// ever returns neither.
pub trait Outcome: sealed::Outcome {}

impl<T: sealed::Outcome> Outcome for T {}

pub(super) mod sealed {
    use core::fmt::Display;

    /// What a function returns.
    pub trait FnOutput {
        type Output;
    }

    impl<T> FnOutput for fn() -> T {
        type Output = T;
    }

    /// `!`, which is no type that can be written yet: what the body of an endless loop has.
    type Never = <fn() -> ! as FnOutput>::Output;

    pub trait Outcome {
        /// Why it failed, if it did.
        fn failure(self) -> Option<String>;
    }

    impl Outcome for () {
        fn failure(self) -> Option<String> {
            None
        }
    }

    impl Outcome for Never {
        fn failure(self) -> Option<String> {
            self
        }
    }

    impl<E: Display> Outcome for Result<(), E> {
        fn failure(self) -> Option<String> {
            self.err().map(|why| why.to_string())
        }
    }
}
