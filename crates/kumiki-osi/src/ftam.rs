//! The file service: ISO 8571-3.
