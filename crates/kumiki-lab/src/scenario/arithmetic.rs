//! Sums and products in the place of a value: `rtt / 2`, `100 + i`, `queue * 2 - 1`.
//!
//! An operator stands between spaces, since units have a slash of their own ("Mb/s") and names may have a hyphen. Products go before sums, and each from
//! left to right. Nothing is rounded: what a quantity of its kind cannot hold has no value.

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

/// The value, where `value` gives that of each operand; `None` where there is none.
pub(super) fn evaluate(text: &str, value: &impl Fn(&str) -> Option<Amount>) -> Option<Amount> {
    for operators in [SUMS, PRODUCTS] {
        // What is behind the last operator is done last.
        let last = operators.iter().filter_map(|operator| Some((text.rfind(operator)?, *operator))).max();
        if let Some((at, operator)) = last {
            let (left, right) = text.split_at(at);
            let right = right.get(operator.len()..).unwrap_or_default();
            return combine(evaluate(left, value)?, operator, evaluate(right, value)?);
        }
    }
    value(text.trim())
}

fn combine(left: Amount, operator: &str, right: Amount) -> Option<Amount> {
    let (a, b) = (left.base(), right.base());
    let (count_left, count_right) = (matches!(left, Amount::Count(_)), matches!(right, Amount::Count(_)));
    let whole = || (a.checked_rem(b)? == 0).then(|| a.checked_div(b))?;
    match operator {
        " + " if left.is_like(right) => Some(left.with_base(a.checked_add(b)?)),
        " - " if left.is_like(right) => Some(left.with_base(a.checked_sub(b)?)),
        " * " if count_right => Some(left.with_base(a.checked_mul(b)?)),
        " * " if count_left => Some(right.with_base(a.checked_mul(b)?)),
        " / " if count_right => Some(left.with_base(whole()?)),
        " / " if left.is_like(right) => Some(Amount::Count(whole()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        assert!(has_operator(text), "{text}");
        evaluate(text, &Amount::parse).map(|amount| amount.to_string())
    }

    #[test]
    fn products_go_before_sums_and_both_from_left_to_right() {
        assert_eq!(of("10 - 2 * 3 + 8 / 4 / 2").as_deref(), Some("5"));
        assert_eq!(of("1 ms * 3 - 500 us").as_deref(), Some("2500 us"));
        assert_eq!(of("2 * 8 KiB / 512 B").as_deref(), Some("32"));
        assert_eq!(of("5 Mb/s * 3").as_deref(), Some("15 Mb/s"));
    }

    #[test]
    fn what_is_not_whole_or_not_alike_has_no_value() {
        for text in
            ["7 / 2", "1 ms + 1 B", "1 - 2", "1 / 0", "1 ms * 1 ms", "a + 1", "1 + 7 / 2", "18446744073709551615 + 1"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn operands_are_listed_in_their_order() {
        assert_eq!(operands("a-b + 5 Mb/s * c / 2"), Some(vec!["a-b", "5 Mb/s", "c", "2"]));
        assert_eq!(operands(&"1 + ".repeat(40)), None);
        assert!(!has_operator("a-b") && !has_operator("5 Mb/s"));
    }
}
