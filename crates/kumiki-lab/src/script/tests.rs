//! The notation reads what it prints and bears any text; the judge refuses what is not as written.

use super::*;
