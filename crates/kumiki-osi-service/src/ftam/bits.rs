//! The BIT STRINGs with named bits: functional units, actions, names of attributes.
//!
//! Bit n of the standard is the bit of value 2^n here; on the wire it is the (n+1)th from the left. Bits that the
//! standard does not name are kept up to 31 and lost from 32 on.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// One set of named bits.
macro_rules! bits {
    (
        $(#[$doc:meta])*
        $set:ident { $($(#[$bit_doc:meta])* $bit:ident = $number:literal, $text:literal;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $set(u32);

        impl $set {
            /// No bit.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self(1 << $number);)*
            /// Every bit that the standard names, with the text of [`Display`](fmt::Display), in the standard's order.
            pub const NAMED: &'static [(Self, &'static str)] = &[$((Self::$bit, $text)),*];

            /// From a number whose bit of value 2^n is the standard's bit n.
            #[must_use]
            pub const fn from_bits(bits: u32) -> Self {
                Self(bits)
            }

            /// As a number whose bit of value 2^n is the standard's bit n.
            #[must_use]
            pub const fn bits(self) -> u32 {
                self.0
            }

            /// These and those; for constants. Elsewhere `|` says it shorter.
            #[must_use]
            pub const fn with(self, more: Self) -> Self {
                Self(self.0 | more.0)
            }

            /// Whether all of `those` are among these.
            #[must_use]
            pub const fn contains(self, those: Self) -> bool {
                self.0 & those.0 == those.0
            }

            /// Whether there is none.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// The one of this name, as [`Display`](fmt::Display) writes it.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                let mut all = Self::NAMED.iter();
                all.find_map(|(bit, text)| (*text == name).then_some(*bit))
            }
        }

        impl fmt::Display for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut left = *self;
                let mut before = "";
                for (bit, text) in Self::NAMED {
                    if left.contains(*bit) {
                        write!(f, "{before}{text}")?;
                        before = ", ";
                        left = left - *bit;
                    }
                }
                for n in (0..32).filter(|n| left.0 >> n & 1 == 1) {
                    write!(f, "{before}bit {n}")?;
                    before = ", ";
                }
                if before.is_empty() { f.write_str("none") } else { Ok(()) }
            }
        }

        impl fmt::Debug for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($set), "({})"), self)
            }
        }

        impl BitOr for $set {
            type Output = Self;

            fn bitor(self, more: Self) -> Self {
                self.with(more)
            }
        }

        impl BitOrAssign for $set {
            fn bitor_assign(&mut self, more: Self) {
                self.0 |= more.0;
            }
        }

        impl BitAnd for $set {
            type Output = Self;

            fn bitand(self, those: Self) -> Self {
                Self(self.0 & those.0)
            }
        }

        impl Sub for $set {
            type Output = Self;

            fn sub(self, those: Self) -> Self {
                Self(self.0 & !those.0)
            }
        }
    };
}

bits! {
    /// Versions of the protocol.
    ProtocolVersions {
        /// That of 1988.
        VERSION_1 = 0, "version 1";
        /// With filestore management, of the amendments of 1992 and later.
        VERSION_2 = 1, "version 2";
    }
}

bits! {
    /// Classes of the service, ISO 8571-3: each is a choice of functional units. A request offers some, the response
    /// takes one.
    ServiceClasses {
        /// Any valid choice of functional units.
        UNCONSTRAINED = 0, "unconstrained";
        /// Kernel, limited file management and grouping; enhanced file management as agreed.
        MANAGEMENT = 1, "management";
        /// Kernel, grouping, and read or write or both.
        TRANSFER = 2, "transfer";
        /// The two before in one.
        TRANSFER_AND_MANAGEMENT = 3, "transfer-and-management";
        /// Kernel, read, write and file access.
        ACCESS = 4, "access";
    }
}

bits! {
    /// What both sides agree to use. The kernel is not among them, as it is always there.
    FunctionalUnits {
        /// F-READ.
        READ = 2, "read";
        /// F-WRITE.
        WRITE = 3, "write";
        /// F-LOCATE and F-ERASE.
        FILE_ACCESS = 4, "file-access";
        /// F-CREATE, F-DELETE and F-READ-ATTRIB.
        LIMITED_FILE_MANAGEMENT = 5, "limited-file-management";
        /// F-CHANGE-ATTRIB.
        ENHANCED_FILE_MANAGEMENT = 6, "enhanced-file-management";
        /// F-BEGIN-GROUP and F-END-GROUP.
        GROUPING = 7, "grouping";
        /// Locks on single file access data units.
        FADU_LOCKING = 8, "fadu-locking";
        /// F-RECOVER, and F-CHECK.
        RECOVERY = 9, "recovery";
        /// F-RESTART, and F-CHECK.
        RESTART_DATA_TRANSFER = 10, "restart-data-transfer";
        /// F-CHANGE-PREFIX and F-LIST.
        LIMITED_FILESTORE_MANAGEMENT = 11, "limited-filestore-management";
        /// F-CREATE-DIRECTORY, F-LINK, F-UNLINK and the attributes of links.
        ENHANCED_FILESTORE_MANAGEMENT = 12, "enhanced-filestore-management";
        /// F-MOVE and F-COPY.
        OBJECT_MANIPULATION = 13, "object-manipulation";
        /// The F-GROUP primitives and F-SELECT-ANOTHER.
        GROUP_MANIPULATION = 14, "group-manipulation";
        /// Several transfers one after the other while a file is open.
        CONSECUTIVE_ACCESS = 15, "consecutive-access";
        /// Reading and writing at the same time.
        CONCURRENT_ACCESS = 16, "concurrent-access";
    }
}

bits! {
    /// Groups of attributes, ISO 8571-2. The kernel group is always there.
    AttributeGroups {
        /// Account, dates, identities, availability and sizes.
        STORAGE = 0, "storage";
        /// Access control and legal qualifications.
        SECURITY = 1, "security";
        /// Private use.
        PRIVATE = 2, "private";
        /// Attribute extensions; version 2.
        EXTENSION = 3, "extension";
    }
}

bits! {
    /// What the user of a selected file wants to do with it.
    AccessRequest {
        /// Read the contents.
        READ = 0, "read";
        /// Insert a file access data unit.
        INSERT = 1, "insert";
        /// Replace the contents.
        REPLACE = 2, "replace";
        /// Add to the contents.
        EXTEND = 3, "extend";
        /// Erase contents.
        ERASE = 4, "erase";
        /// Read attributes.
        READ_ATTRIBUTE = 5, "read-attribute";
        /// Change attributes.
        CHANGE_ATTRIBUTE = 6, "change-attribute";
        /// Delete the file.
        DELETE = 7, "delete";
    }
}

bits! {
    /// What is possible with a file at all: an attribute of it.
    PermittedActions {
        /// Read the contents.
        READ = 0, "read";
        /// Insert a file access data unit.
        INSERT = 1, "insert";
        /// Replace the contents.
        REPLACE = 2, "replace";
        /// Add to the contents.
        EXTEND = 3, "extend";
        /// Erase contents.
        ERASE = 4, "erase";
        /// Read attributes.
        READ_ATTRIBUTE = 5, "read-attribute";
        /// Change attributes.
        CHANGE_ATTRIBUTE = 6, "change-attribute";
        /// Delete the file.
        DELETE = 7, "delete";
        /// Go through file access data units forwards.
        TRAVERSAL = 8, "traversal";
        /// Go through file access data units backwards.
        REVERSE_TRAVERSAL = 9, "reverse-traversal";
        /// Go to any file access data unit.
        RANDOM_ORDER = 10, "random-order";
        /// Pass through a directory; version 2.
        PASS = 11, "pass";
        /// Link to this object; version 2.
        LINK = 12, "link";
    }
}

bits! {
    /// What an open file is open for.
    ProcessingMode {
        /// F-READ.
        READ = 0, "read";
        /// F-WRITE with the operation insert.
        INSERT = 1, "insert";
        /// F-WRITE with the operation replace.
        REPLACE = 2, "replace";
        /// F-WRITE with the operation extend.
        EXTEND = 3, "extend";
        /// F-ERASE.
        ERASE = 4, "erase";
    }
}

bits! {
    /// The locks that an access control element allows for one action.
    LockKeys {
        /// No lock.
        NOT_REQUIRED = 0, "not-required";
        /// Others may do the same.
        SHARED = 1, "shared";
        /// Nobody else may do it.
        EXCLUSIVE = 2, "exclusive";
        /// Nobody may do it.
        NO_ACCESS = 3, "no-access";
    }
}

bits! {
    /// Attributes by name: which are to be read, or stand in the entries of a directory.
    AttributeNames {
        /// Pathname.
        PATHNAME = 0, "pathname";
        /// Permitted actions.
        PERMITTED_ACTIONS = 1, "permitted-actions";
        /// Contents type.
        CONTENTS_TYPE = 2, "contents-type";
        /// Storage account.
        STORAGE_ACCOUNT = 3, "storage-account";
        /// Date and time of creation.
        CREATED = 4, "date-and-time-of-creation";
        /// Date and time of last modification.
        MODIFIED = 5, "date-and-time-of-last-modification";
        /// Date and time of last read access.
        READ = 6, "date-and-time-of-last-read-access";
        /// Date and time of last attribute modification.
        ATTRIBUTES_MODIFIED = 7, "date-and-time-of-last-attribute-modification";
        /// Identity of creator.
        CREATOR = 8, "identity-of-creator";
        /// Identity of last modifier.
        MODIFIER = 9, "identity-of-last-modifier";
        /// Identity of last reader.
        READER = 10, "identity-of-last-reader";
        /// Identity of last attribute modifier.
        ATTRIBUTE_MODIFIER = 11, "identity-of-last-attribute-modifier";
        /// Availability.
        AVAILABILITY = 12, "object-availability";
        /// Size.
        SIZE = 13, "object-size";
        /// Future size.
        FUTURE_SIZE = 14, "future-object-size";
        /// Access control.
        ACCESS_CONTROL = 15, "access-control";
        /// Legal qualification.
        LEGAL_QUALIFICATION = 16, "legal-qualification";
        /// Private use.
        PRIVATE_USE = 17, "private-use";
        /// Object type; version 2.
        OBJECT_TYPE = 18, "object-type";
        /// Linked object; version 2.
        LINKED_OBJECT = 19, "linked-object";
        /// Primary pathname; version 2.
        PRIMARY_PATHNAME = 20, "primary-pathname";
        /// Path access control; version 2.
        PATH_ACCESS_CONTROL = 21, "path-access-control";
        /// Child objects; version 2.
        CHILD_OBJECTS = 23, "child-objects";
    }
}

bits! {
    /// What of an attribute makes a comparison for equality true.
    EqualityComparison {
        /// That it has no value.
        NO_VALUE_AVAILABLE_MATCHES = 0, "no value available matches";
        /// That it is equal. Where this is clear, that it is not.
        EQUALS_MATCHES = 1, "equals matches";
    }
}

bits! {
    /// What of an attribute makes a comparison of order true. The last three bits are not all the same.
    RelationalComparison {
        /// That it has no value.
        NO_VALUE_AVAILABLE_MATCHES = 0, "no value available matches";
        /// That it is equal.
        EQUALS_MATCHES = 1, "equals matches";
        /// That it is less.
        LESS_THAN_MATCHES = 2, "less than matches";
        /// That it is greater.
        GREATER_THAN_MATCHES = 3, "greater than matches";
    }
}

impl AttributeGroups {
    /// The attributes of version 1 in these groups and the kernel group (ISO 8571-2).
    #[must_use]
    pub const fn names(self) -> AttributeNames {
        let mut names =
            AttributeNames::PATHNAME.with(AttributeNames::PERMITTED_ACTIONS).with(AttributeNames::CONTENTS_TYPE);
        if self.contains(Self::STORAGE) {
            names = names
                .with(AttributeNames::STORAGE_ACCOUNT)
                .with(AttributeNames::CREATED)
                .with(AttributeNames::MODIFIED)
                .with(AttributeNames::READ)
                .with(AttributeNames::ATTRIBUTES_MODIFIED)
                .with(AttributeNames::CREATOR)
                .with(AttributeNames::MODIFIER)
                .with(AttributeNames::READER)
                .with(AttributeNames::ATTRIBUTE_MODIFIER)
                .with(AttributeNames::AVAILABILITY)
                .with(AttributeNames::SIZE)
                .with(AttributeNames::FUTURE_SIZE);
        }
        if self.contains(Self::SECURITY) {
            names = names.with(AttributeNames::ACCESS_CONTROL).with(AttributeNames::LEGAL_QUALIFICATION);
        }
        if self.contains(Self::PRIVATE) {
            names = names.with(AttributeNames::PRIVATE_USE);
        }
        names
    }
}

impl AccessRequest {
    /// Whether all that is wanted is permitted.
    #[must_use]
    pub const fn is_within(self, permitted: PermittedActions) -> bool {
        // The first eight bits of both are the same actions.
        permitted.bits() & self.0 == self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_shown_by_its_names_and_what_has_none_by_number() {
        let units = FunctionalUnits::READ | FunctionalUnits::GROUPING;
        assert_eq!(units.to_string(), "read, grouping");
        assert_eq!(FunctionalUnits::NONE.to_string(), "none");
        assert_eq!((units | FunctionalUnits::from_bits(1 << 30)).to_string(), "read, grouping, bit 30");
        assert_eq!(FunctionalUnits::named("grouping"), Some(FunctionalUnits::GROUPING));
        assert_eq!(FunctionalUnits::named("kernel"), None);
    }

    #[test]
    fn what_is_wanted_is_within_what_is_permitted() {
        let permitted = PermittedActions::READ | PermittedActions::DELETE;
        assert!(AccessRequest::DELETE.is_within(permitted));
        assert!(!(AccessRequest::DELETE | AccessRequest::EXTEND).is_within(permitted));
    }
}
