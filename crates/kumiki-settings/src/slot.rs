//! Places of values in a configuration.

use kumiki_graph::Duration;

/// Where a value is: always, or in an `Option` perhaps.
pub trait Slot {
    /// The value.
    type Value;
    /// What is there.
    fn value(&self) -> Option<Self::Value>;
    /// Puts `value` there.
    fn put(&mut self, value: Self::Value);
}

/// A whole number in a configuration.
pub trait Integer: Copy + TryFrom<u64> {
    /// As 64 bits.
    fn wide(self) -> u64;
}

macro_rules! slots {
    ($($value:ty),*) => {$(
        impl Slot for $value {
            type Value = $value;
            fn value(&self) -> Option<$value> {
                Some(*self)
            }
            fn put(&mut self, value: $value) {
                *self = value;
            }
        }
        impl Slot for Option<$value> {
            type Value = $value;
            fn value(&self) -> Option<$value> {
                *self
            }
            fn put(&mut self, value: $value) {
                *self = Some(value);
            }
        }
    )*};
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Integer for $integer {
            fn wide(self) -> u64 {
                u64::try_from(self).unwrap_or(u64::MAX)
            }
        }
    )*};
}

slots!(bool, Duration, u8, u16, u32, u64, usize, f64);
integers!(u8, u16, u32, u64, usize);
