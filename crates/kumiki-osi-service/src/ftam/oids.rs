//! Object identifiers that ISO 8571 and others assign to parts of FTAM.

use crate::Oid;

/// The application context "ISO FTAM", ISO 8571-4.
pub const APPLICATION_CONTEXT: Oid = Oid::of(&[1, 0, 8571, 1, 1]);

/// Abstract syntax "FTAM-PCI": that of the FPDUs.
pub const PCI: Oid = Oid::of(&[1, 0, 8571, 2, 1]);
/// Abstract syntax "FTAM-FADU": that of structuring data elements. Recalled.
pub const FADU: Oid = Oid::of(&[1, 0, 8571, 2, 2]);
/// Abstract syntax "FTAM unstructured text": the strings of FTAM-1 and FTAM-2.
pub const UNSTRUCTURED_TEXT: Oid = Oid::of(&[1, 0, 8571, 2, 3]);
/// Abstract syntax "FTAM unstructured binary": the octets of FTAM-3 and FTAM-4.
pub const UNSTRUCTURED_BINARY: Oid = Oid::of(&[1, 0, 8571, 2, 4]);
/// Abstract syntax "FTAM simple hierarchy": the records of FTAM-5.
pub const SIMPLE_HIERARCHY: Oid = Oid::of(&[1, 0, 8571, 2, 5]);
/// Abstract syntax of the entries of an NBS-9 directory.
pub const NBS_9_ENTRIES: Oid = Oid::of(&[1, 3, 14, 5, 2, 2]);
/// The same before the OSI Implementors' Workshop had an arc. ISODE offers both.
pub const NBS_9_ENTRIES_OLD: Oid = Oid::of(&[1, 3, 9999, 1, 2, 2]);

/// The hierarchical file model.
pub const FILE_MODEL: Oid = Oid::of(&[1, 0, 8571, 3, 1]);

/// Constraint set "unstructured": one data unit, no names.
pub const UNSTRUCTURED: Oid = Oid::of(&[1, 0, 8571, 4, 1]);
/// Constraint set "sequential flat". Recalled.
pub const SEQUENTIAL_FLAT: Oid = Oid::of(&[1, 0, 8571, 4, 2]);

/// Document type FTAM-1: unstructured text.
pub const FTAM_1: Oid = Oid::of(&[1, 0, 8571, 5, 1]);
/// Document type FTAM-2: sequential text.
pub const FTAM_2: Oid = Oid::of(&[1, 0, 8571, 5, 2]);
/// Document type FTAM-3: unstructured binary.
pub const FTAM_3: Oid = Oid::of(&[1, 0, 8571, 5, 3]);
/// Document type FTAM-4: sequential binary.
pub const FTAM_4: Oid = Oid::of(&[1, 0, 8571, 5, 4]);
/// Document type NBS-9: a directory.
pub const NBS_9: Oid = Oid::of(&[1, 3, 14, 5, 5, 9]);
/// The same before the OSI Implementors' Workshop had an arc.
pub const NBS_9_OLD: Oid = Oid::of(&[1, 3, 9999, 1, 5, 9]);

/// Transfer syntax: the Basic Encoding Rules of ASN.1.
pub const BER: Oid = Oid::of(&[2, 1, 1]);

/// What one of these is called, in a few words.
#[must_use]
pub fn name(oid: &Oid) -> Option<&'static str> {
    const NAMES: &[(Oid, &str)] = &[
        (APPLICATION_CONTEXT, "ISO FTAM"),
        (PCI, "FTAM-PCI"),
        (FADU, "FTAM-FADU"),
        (UNSTRUCTURED_TEXT, "FTAM unstructured text"),
        (UNSTRUCTURED_BINARY, "FTAM unstructured binary"),
        (SIMPLE_HIERARCHY, "FTAM simple hierarchy"),
        (NBS_9_ENTRIES, "NBS-9 entries"),
        (NBS_9_ENTRIES_OLD, "NBS-9 entries (old)"),
        (FILE_MODEL, "hierarchical file model"),
        (UNSTRUCTURED, "unstructured"),
        (SEQUENTIAL_FLAT, "sequential flat"),
        (FTAM_1, "FTAM-1"),
        (FTAM_2, "FTAM-2"),
        (FTAM_3, "FTAM-3"),
        (FTAM_4, "FTAM-4"),
        (NBS_9, "NBS-9"),
        (NBS_9_OLD, "NBS-9 (old)"),
        (BER, "BER"),
    ];
    NAMES.iter().find_map(|(one, name)| (one == oid).then_some(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_isode_sends_is_known_by_name() {
        let name = |content: &[u8]| name(&Oid::from_content(content).unwrap());
        assert_eq!(name(&[0x28, 0xc2, 0x7b, 5, 3]), Some("FTAM-3"));
        assert_eq!(name(&[0x2b, 0xce, 0x0f, 1, 5, 9]), Some("NBS-9 (old)"));
        assert_eq!(name(&[0x2b, 0x0e, 5, 2, 2]), Some("NBS-9 entries"));
        assert_eq!(name(&[0x28]), None);
    }
}
