//! Sums and products in the place of a value: `rtt / 2`, `100 + i`, `queue * 2 - 1`.
//!
//! An operator stands between spaces, since units have a slash of their own ("Mb/s") and names may have a hyphen.
//! Products go before sums, and each from left to right. Nothing is rounded: what a quantity of its kind cannot hold
//! has no value.

use super::amount::Amount;

const PRODUCTS: [&str; 2] = [" * ", " / "];
const SUMS: [&str; 2] = [" + ", " - "];
const ALL: [&str; 4] = [" * ", " / ", " + ", " - "];

/// Whether `text` is more than one operand.
pub(super) fn has_operator(text: &str) -> bool {
    ALL.iter().any(|operator| text.contains(operator))
}

/// The operands, first to last; `None` where they are more than anybody would write.
pub(super) fn operands(text: &str) -> Option<Vec<&str>> {
    const MOST: usize = 32;
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((at, operator)) = ALL.iter().filter_map(|operator| Some((rest.find(operator)?, operator))).min() {
        let (operand, behind) = rest.split_at(at);
        all.push(operand.trim());
        rest = behind.get(operator.len()..).unwrap_or_default();
    }
    all.push(rest.trim());
    (all.len() <= MOST).then_some(all)
}

/// Why there is no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoValue {
    /// An operand is neither a number nor a quantity.
    Unknown,
    /// Kinds that are not added, subtracted, multiplied or divided.
    Unlike,
    /// Nothing is below 0.
    Negative,
    /// It is divided by 0.
    ByZero,
    /// A fraction of a base unit.
    Broken,
    /// More than 64 bits hold.
    Large,
}

impl NoValue {
    /// What is wrong, and what would be right.
    pub(super) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Unknown | Self::Unlike => ("these do not go together", "numbers, or quantities that go together"),
            Self::Negative => ("it is below 0", "a result of 0 or more"),
            Self::ByZero => ("it is divided by 0", "a divisor above 0"),
            Self::Broken => ("it is not whole", "a result that is whole, in the smallest unit of its kind"),
            Self::Large => ("it is too large", "a result below 2^64, in the smallest unit of its kind"),
        }
    }
}

/// What is written in the place of a name and is none: what it is, and what would be right.
pub(super) fn no_name(text: &str) -> Option<(&'static str, String)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    if text.contains(['(', ')']) {
        let expected = "products before sums, each from left to right; what is between brackets in [define]";
        return Some(("brackets", expected.to_owned()));
    }
    if let Some(rest) = text.strip_prefix(['-', '+']).filter(|rest| Amount::parse(rest).is_some()) {
        return Some(("a sign", format!("values of 0 or more; x - {rest} subtracts")));
    }
    if text.split_once('.').is_some_and(|(whole, part)| is_number(whole) && is_number(part)) {
        return Some(("a fraction", "whole numbers, such as x * 3 / 2 for one and a half times x".to_owned()));
    }
    if is_number(text) {
        return Some(("a number that is too large", format!("at most {}", u64::MAX)));
    }
    Amount::parse(text).map(|_| ("a value", format!("{text:?} by itself, without ${{}}")))
}

/// The value, where `value` gives that of each operand.
///
/// # Errors
/// [`NoValue`] there is none.
pub(super) fn evaluate(text: &str, value: &impl Fn(&str) -> Option<Amount>) -> Result<Amount, NoValue> {
    for operators in [SUMS, PRODUCTS] {
        // What is behind the last operator is done last.
        let last = operators.iter().filter_map(|operator| Some((text.rfind(operator)?, *operator))).max();
        if let Some((at, operator)) = last {
            let (left, right) = text.split_at(at);
            let right = right.get(operator.len()..).unwrap_or_default();
            return combine(evaluate(left, value)?, operator, evaluate(right, value)?);
        }
    }
    value(text.trim()).ok_or(NoValue::Unknown)
}

fn combine(left: Amount, operator: &str, right: Amount) -> Result<Amount, NoValue> {
    let (a, b) = (left.base(), right.base());
    let (count_left, count_right) = (matches!(left, Amount::Count(_)), matches!(right, Amount::Count(_)));
    let whole = || match a.checked_rem(b) {
        None => Err(NoValue::ByZero),
        Some(0) => a.checked_div(b).ok_or(NoValue::ByZero),
        Some(_) => Err(NoValue::Broken),
    };
    let product = || a.checked_mul(b).ok_or(NoValue::Large);
    match operator {
        " + " if left.is_like(right) => Ok(left.with_base(a.checked_add(b).ok_or(NoValue::Large)?)),
        " - " if left.is_like(right) => Ok(left.with_base(a.checked_sub(b).ok_or(NoValue::Negative)?)),
        " * " if count_right => Ok(left.with_base(product()?)),
        " * " if count_left => Ok(right.with_base(product()?)),
        " / " if count_right => Ok(left.with_base(whole()?)),
        " / " if left.is_like(right) => Ok(Amount::Count(whole()?)),
        _ => Err(NoValue::Unlike),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        assert!(has_operator(text), "{text}");
        evaluate(text, &Amount::parse).ok().map(|amount| amount.to_string())
    }

    #[test]
    fn products_go_before_sums_and_both_from_left_to_right() {
        assert_eq!(of("10 - 2 * 3 + 8 / 4 / 2").as_deref(), Some("5"));
        assert_eq!(of("1 ms * 3 - 500 us").as_deref(), Some("2500 us"));
        assert_eq!(of("2 * 8 KiB / 512 B").as_deref(), Some("32"));
        assert_eq!(of("5 Mb/s * 3").as_deref(), Some("15 Mb/s"));
    }

    #[test]
    fn what_has_no_value_says_why() {
        for (text, why) in [
            ("7 / 2", NoValue::Broken),
            ("1 ms + 1 B", NoValue::Unlike),
            ("1 - 2", NoValue::Negative),
            ("1 ms - 7 ms + 9 ms", NoValue::Negative),
            ("1 / 0", NoValue::ByZero),
            ("1 ms * 1 ms", NoValue::Unlike),
            ("a + 1", NoValue::Unknown),
            ("1 + 7 / 2", NoValue::Broken),
            ("18446744073709551615 + 1", NoValue::Large),
            ("18446744073709551615 * 2", NoValue::Large),
        ] {
            assert_eq!(evaluate(text, &Amount::parse), Err(why), "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_told_as_what_it_is() {
        for (text, what) in [
            ("-1", Some("a sign")),
            ("1.5", Some("a fraction")),
            ("99999999999999999999", Some("a number that is too large")),
            ("0 ms", Some("a value")),
            ("(x", Some("brackets")),
            ("rtt", None),
            ("a-1", None),
            ("a.b", None),
        ] {
            assert_eq!(no_name(text).map(|(what, _)| what), what, "{text}");
        }
    }

    #[test]
    fn operands_are_listed_in_their_order() {
        assert_eq!(operands("a-b + 5 Mb/s * c / 2"), Some(vec!["a-b", "5 Mb/s", "c", "2"]));
        assert_eq!(operands(&"1 + ".repeat(40)), None);
        assert!(!has_operator("a-b") && !has_operator("5 Mb/s"));
    }
}
