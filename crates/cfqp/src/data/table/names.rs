//! Column patterns: plain names, ranges `x0..x19` and the wildcards `*` and `?`.

use super::problem::{Problem, quote_in_hint};

/// The columns that match `patterns`, without repetition, in the order of the patterns. Wildcards and ranges between
/// columns skip those `taken` by another role; a plain name always matches its column.
pub(crate) fn resolve(
    role: &str,
    patterns: &[String],
    columns: &[String],
    taken: &[String],
) -> Result<Vec<String>, Problem> {
    let mut found: Vec<String> = Vec::new();
    for pattern in patterns.iter().map(|pattern| pattern.trim()).filter(|pattern| !pattern.is_empty()) {
        let names = expand(role, pattern, columns, taken)?;
        names.into_iter().for_each(|name| {
            if !found.contains(&name) {
                found.push(name);
            }
        });
    }
    Ok(found)
}

/// The column with exactly this name.
pub(crate) fn resolve_name(role: &str, name: &str, columns: &[String]) -> Result<String, Problem> {
    match columns.iter().find(|column| *column == name) {
        Some(column) => Ok(column.clone()),
        None => Err(unknown(role, name, columns)),
    }
}

fn expand(role: &str, pattern: &str, columns: &[String], taken: &[String]) -> Result<Vec<String>, Problem> {
    let free = |column: &&String| !taken.contains(column);
    if columns.iter().any(|column| column == pattern) {
        return Ok(vec![pattern.to_owned()]);
    }
    if let Some((first, last)) = pattern.split_once("..") {
        if let Some(names) = numbered(first, last) {
            return names.iter().map(|name| resolve_name(role, name, columns)).collect();
        }
        let place = |name: &str| {
            let found = columns.iter().position(|column| column == name);
            found.ok_or_else(|| unknown(role, name, columns))
        };
        let (first, last) = (place(first)?, place(last)?);
        if first > last {
            let problem = format!("{role} `{pattern}`: the first column comes after the last");
            return Err(Problem::new(problem, "give a range from left to right"));
        }
        return Ok(columns[first..=last].iter().filter(free).cloned().collect());
    }
    if pattern.contains(['*', '?']) {
        let matching = columns.iter().filter(|column| is_match(pattern.as_bytes(), column.as_bytes()));
        let names: Vec<String> = matching.filter(free).cloned().collect();
        if names.is_empty() {
            let problem = format!("{role} `{pattern}` matches no column");
            return Err(Problem::new(problem, format!("the columns are {}", list_names(columns))));
        }
        return Ok(names);
    }
    Err(unknown(role, pattern, columns))
}

/// Expands `x0..x19` to x0, x1, ..., x19, with the leading zeros of the first.
fn numbered(first: &str, last: &str) -> Option<Vec<String>> {
    const MAX_COLUMNS: usize = 100_000;
    let split = |name: &'_ str| {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(name.len() - digits);
        Some((stem.to_owned(), number.parse::<usize>().ok()?, number.len()))
    };
    let ((stem, low, width), (other, high, _)) = (split(first)?, split(last)?);
    let sound = stem == other && low <= high && high - low < MAX_COLUMNS;
    sound.then(|| (low..=high).map(|number| format!("{stem}{number:0width$}")).collect())
}

fn unknown(role: &str, name: &str, columns: &[String]) -> Problem {
    let hint = match nearest(name, columns) {
        Some(near) => {
            format!("did you mean {}? The columns are {}", quote_in_hint(near), list_names(columns))
        }
        None => format!("the columns are {}", list_names(columns)),
    };
    Problem::new(format!("{role}: there is no column `{name}`"), hint)
}

/// The column whose name is most similar to `name`, if any is similar enough.
pub(crate) fn nearest<'a>(name: &str, columns: &'a [String]) -> Option<&'a String> {
    let distance = |column: &&String| strsim::levenshtein(&name.to_lowercase(), &column.to_lowercase());
    let best = columns.iter().min_by_key(distance)?;
    let limit = (name.chars().count().max(best.chars().count()) / 3).max(1);
    (distance(&best) <= limit).then_some(best)
}

/// Lists the first names, for a message or a hint, in which backticks mark settings.
pub(crate) fn list_names(names: &[String]) -> String {
    const MAX_SHOWN: usize = 12;
    let shown: Vec<String> = names.iter().take(MAX_SHOWN).map(|name| name.replace('`', "'")).collect();
    match names.len() {
        0..=MAX_SHOWN => shown.join(", "),
        total => format!("{}, ... ({total} in total)", shown.join(", ")),
    }
}

/// Whether `text` matches `pattern`, in which `*` stands for any bytes and `?` for one byte.
fn is_match(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // the position of the last `*`, and the end of the text that it matched
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == b'?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((position, end)) = star {
            star = Some((position, end + 1));
            p = position + 1;
            t = end + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_ranges_and_wildcards_match_columns() {
        let columns = strings(&["id", "x0", "x1", "x2", "age", "dose", "bp_1", "bp_2", "a..b"]);
        let taken = strings(&["id", "dose"]);
        let found =
            |patterns: &[&str]| resolve("x", &strings(patterns), &columns, &taken).map(|f| f.join(" "));
        assert_eq!(found(&["x0..x2", "age"]).unwrap(), "x0 x1 x2 age");
        assert_eq!(found(&["bp_*", "x?"]).unwrap(), "bp_1 bp_2 x0 x1 x2");
        assert_eq!(found(&["*"]).unwrap(), "x0 x1 x2 age bp_1 bp_2 a..b");
        assert_eq!(found(&["x1..bp_1"]).unwrap(), "x1 x2 age bp_1");
        assert_eq!(found(&["a..b", "age", "age"]).unwrap(), "a..b age");
        let error = found(&["agee"]).unwrap_err();
        assert_eq!(error.problem, "x: there is no column `agee`");
        assert!(error.hint.starts_with("did you mean 'age'? The columns are id, x0"));
        assert_eq!(found(&["x0..x5"]).unwrap_err().problem, "x: there is no column `x3`");
        assert_eq!(found(&["z*"]).unwrap_err().problem, "x `z*` matches no column");
        assert!(found(&["age..x0"]).unwrap_err().problem.contains("comes after"));
        assert_eq!(numbered("s08", "s11").unwrap(), ["s08", "s09", "s10", "s11"]);
    }

    #[test]
    fn wildcards_match_as_a_shell_does() {
        for (pattern, text) in [("*", ""), ("a*c", "abbc"), ("a*b*c", "aXbbc"), ("?b", "ab"), ("*b", "bb")] {
            assert!(is_match(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("a*c", "ab"), ("?", ""), ("a", "ab"), ("*a", "ab")] {
            assert!(!is_match(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let columns = strings(&["dose", "age"]);
        assert_eq!(nearest("Dosis", &strings(&["dose"])), None);
        assert_eq!(nearest("Dos", &columns), Some(&columns[0]));
        assert_eq!(nearest("zzz", &columns), None);
    }
}
