//! What tests of protocols have in common.
//!
//! | read | for |
//! |---|---|
//! | [`mod@bench`] | a graph whose users say what they are told to, and whose devices end in the test |
//! | [`refused`] | the rule that what is refused changes nothing, tried on two runs of one session |

pub mod bench;
pub mod refused;
