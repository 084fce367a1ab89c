//! The packet layer: ITU-T X.25, ISO 8208.
