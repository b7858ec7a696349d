//! The order in which go-yaml v2 writes keys: numbers inside them by value, letters after everything else.

use std::cmp::Ordering;

/// Returns the keys in go-yaml's natural order.
///
/// The rule is not a total order for every set of odd keys, so the standard sort (which may panic then) is not used.
pub(super) fn natural<'k>(keys: impl Iterator<Item = &'k String>) -> Vec<&'k str> {
    merge_sort(keys.map(String::as_str).collect())
}

fn merge_sort(mut keys: Vec<&str>) -> Vec<&str> {
    if keys.len() < 2 {
        return keys;
    }
    let right = merge_sort(keys.split_off(keys.len() / 2));
    let left = merge_sort(keys);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(b, a) == Ordering::Less {
            right.next()
        } else {
            left.next()
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Compares two keys.
fn compare(a: &str, b: &str) -> Ordering {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    if same == a.len().min(b.len()) {
        return a.len().cmp(&b.len());
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = (0..a.len().min(b.len())).find(|at| a[*at] != b[*at]) else {
        return a.len().cmp(&b.len());
    };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero inside a number that has begun counts as its digit; a leading zero does not.
    let begun = (a[at] == '0' || b[at] == '0')
        && a[..at]
            .iter()
            .rev()
            .take_while(|c| c.is_numeric())
            .any(|c| *c != '0');
    let number = |text: &[char]| {
        let digits = text[at..].iter().take_while(|c| c.is_numeric());
        digits.fold((i64::from(begun), 0usize), |(value, len), digit| {
            let digit = i64::from(u32::from(*digit)) - i64::from(u32::from('0'));
            (value.wrapping_mul(10).wrapping_add(digit), len + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(a[at].cmp(&b[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_numbers_by_value_and_letters_last() {
        let mut keys: Vec<String> = ["a10", "a9", "b", "a.b", "a", "aB", "_x", "1", "a01", "a1"]
            .map(String::from)
            .into();
        keys.sort();
        assert_eq!(
            natural(keys.iter()),
            ["_x", "1", "a", "a.b", "a1", "a01", "a9", "a10", "aB", "b"]
        );
    }
}
