//! Go's glob matching on bytes: `*`, `?`, `[a-z]`, `[^a-z]` and `\x`.
//!
//! Used for `${v#pattern}`, where `*` also takes `/`, and for single names of ignore rules, which hold none. A pattern
//! that is malformed matches nothing.

/// Tells whether the whole of `name` matches `pattern`.
pub(in super::super) fn glob(pattern: &[u8], name: &[u8]) -> bool {
    matches(pattern, name).unwrap_or(false)
}

/// A malformed pattern.
struct Malformed;

fn matches(mut pattern: &[u8], mut name: &[u8]) -> Result<bool, Malformed> {
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(true);
        }
        if let Some(left) = match_chunk(chunk, name)?
            && (left.is_empty() || !pattern.is_empty())
        {
            name = left;
            continue;
        }
        if star {
            for from in 1..=name.len() {
                if let Some(left) = match_chunk(chunk, &name[from..])? {
                    if pattern.is_empty() && !left.is_empty() {
                        continue;
                    }
                    name = left;
                    continue 'pattern;
                }
            }
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// Splits off leading stars and what follows up to the next one outside brackets.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|c| **c == b'*').count();
    let pattern = &pattern[stars..];
    let mut bracket = false;
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' if at + 1 < pattern.len() => at += 1,
            b'[' => bracket = true,
            b']' => bracket = false,
            b'*' if !bracket => break,
            _ => {}
        }
        at += 1;
    }
    (stars > 0, &pattern[..at], &pattern[at..])
}

/// Matches a chunk without stars at the head of `name`; gives what is left of it.
fn match_chunk<'n>(mut chunk: &[u8], mut name: &'n [u8]) -> Result<Option<&'n [u8]>, Malformed> {
    while let Some((&first, rest)) = chunk.split_first() {
        if name.is_empty() {
            return Ok(None);
        }
        match first {
            b'[' => {
                let (c, width) = decode(name);
                name = &name[width..];
                let (inside, after) = match_class(rest, c)?;
                if !inside {
                    return Ok(None);
                }
                chunk = after;
            }
            b'?' => {
                name = &name[decode(name).1..];
                chunk = rest;
            }
            _ => {
                let literal = if first == b'\\' { rest } else { chunk };
                let (&wanted, rest) = literal.split_first().ok_or(Malformed)?;
                if wanted != name[0] {
                    return Ok(None);
                }
                name = &name[1..];
                chunk = rest;
            }
        }
    }
    Ok(Some(name))
}

/// Reads the class after `[`; tells whether it takes `c`, and gives the pattern after `]`.
fn match_class(class: &[u8], c: char) -> Result<(bool, &[u8]), Malformed> {
    let (negated, mut class) = match class.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, class),
    };
    let mut found = false;
    let mut ranges = 0;
    loop {
        if let Some(rest) = class.strip_prefix(b"]")
            && ranges > 0
        {
            return Ok((found != negated, rest));
        }
        let (low, rest) = class_char(class)?;
        let (high, rest) = match rest.strip_prefix(b"-") {
            Some(rest) => class_char(rest)?,
            None => (low, rest),
        };
        found |= low <= c && c <= high;
        class = rest;
        ranges += 1;
    }
}

fn class_char(class: &[u8]) -> Result<(char, &[u8]), Malformed> {
    let class = match class.first() {
        None | Some(b'-' | b']') => return Err(Malformed),
        Some(b'\\') => &class[1..],
        Some(_) => class,
    };
    let (c, width) = decode(class);
    if (c == char::REPLACEMENT_CHARACTER && width <= 1) || class.len() == width {
        return Err(Malformed);
    }
    Ok((c, &class[width..]))
}

/// Decodes the first character; a byte that starts none is the replacement character of width 1, the end has width 0.
pub(super) fn decode(bytes: &[u8]) -> (char, usize) {
    let head = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(c) => (c, c.len_utf8()),
        None => (char::REPLACEMENT_CHARACTER, head.len().min(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_whole_names() {
        for (pattern, name, expected) in [
            ("*.jpg", "a.jpg", true),
            ("*.jpg", "a.jpg.txt", false),
            ("a*b*c", "axxbyyc", true),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            (r"\*", "*", true),
            ("[", "[", false),
            ("a[", "a", false),
            ("*", "", true),
            ("", "", true),
            ("ü?", "üä", true),
        ] {
            assert_eq!(
                glob(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }
}
