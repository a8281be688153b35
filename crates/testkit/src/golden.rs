//! Comparison of an output with its golden file. A difference is shown as a line diff with context.
//!
//! `ALLOD_UPDATE_GOLDEN=1 cargo test` writes the output to the file instead of comparing.

use std::fmt::Write;
use std::path::Path;

/// Unchanged lines that are shown around a difference.
const CONTEXT: usize = 3;

/// Compares the output with the text of its golden file, or writes the file. The error is a diff.
pub fn compare(file: &Path, golden: &str, output: &str) -> Result<(), String> {
    if std::env::var_os("ALLOD_UPDATE_GOLDEN").is_some() {
        std::fs::write(file, output).map_err(|error| format!("{}: {error}", file.display()))
    } else if golden == output {
        Ok(())
    } else {
        Err(format!("--- {}\n+++ output\n{}", file.display(), diff(golden, output)))
    }
}

/// The lines that differ: `-` only in the golden file, `+` only in the output.
pub fn diff(golden: &str, output: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (golden.lines().collect(), output.lines().collect());
    // Length of the longest common subsequence of the lines from here on.
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    shown(&lines)
}

/// Changed lines with their context; a gap is one line of dots.
fn shown(lines: &[(char, &str)]) -> String {
    let is_near_change = |at: usize| {
        let (from, to) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(lines.len()));
        lines[from..to].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut text = String::new();
    let mut in_gap = false;
    for (at, (mark, line)) in lines.iter().enumerate() {
        if is_near_change(at) {
            in_gap = false;
            writeln!(text, "{mark} {line}").expect("writing to a string succeeds");
        } else if !in_gap {
            in_gap = true;
            text.push_str("…\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_changed_lines_with_context() {
        let golden = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let output = "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten\n";
        let wanted = "…\n  2\n  3\n  4\n- 5\n+ five\n  6\n  7\n  8\n  9\n+ ten\n";
        assert_eq!(diff(golden, output), wanted);
        assert_eq!(diff("a\n", ""), "- a\n");
    }
}
