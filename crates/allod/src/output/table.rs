//! Tables. On a terminal, wide columns are cut to fit; into a pipe, nothing is cut.

use std::io::IsTerminal;

use super::style;
use crate::error::Result;

/// The minimum width of a cut column.
const WIDTH_MIN: usize = 6;
const GAP: &str = "  ";

#[derive(Debug)]
pub struct Table {
    columns: Vec<&'static str>,
    /// The columns that are aligned to the right.
    right: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[&'static str]) -> Table {
        Table { columns: columns.to_vec(), right: Vec::new(), rows: Vec::new() }
    }

    /// Aligns these columns to the right.
    pub fn right(self, columns: &[&'static str]) -> Table {
        Table { right: columns.to_vec(), ..self }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| style::escape_controls(&cell)).collect());
    }

    pub fn print(&self) -> Result<()> {
        let terminal = std::io::stdout().is_terminal();
        super::print(&self.text(width(terminal), style::use_colour(terminal)))
    }

    /// The table as text, cut to `width` if given.
    pub fn text(&self, width: Option<usize>, coloured: bool) -> String {
        let widths = self.widths(width);
        let head = self.line(&self.columns, &widths);
        let mut text = format!("{}\n", style::bold(&head, coloured));
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            text.push_str(&self.line(&cells, &widths));
            text.push('\n');
        }
        text
    }

    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let len = |text: &str| text.chars().count();
        let mut widths: Vec<usize> = self.columns.iter().map(|name| len(name)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(len(cell));
            }
        }
        let Some(room) = width else { return widths };
        let room = room.saturating_sub(GAP.len() * widths.len().saturating_sub(1));
        // Cut the widest column first.
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > WIDTH_MIN => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    fn line(&self, cells: &[&str], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), name) in cells.iter().zip(widths).zip(&self.columns) {
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let cell = cut(cell, *width);
            line.push_str(&match self.right.contains(name) {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// At most `width` characters of the text, with `…` if it was cut.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// The width of the terminal; `None` for no limit.
pub fn width(terminal: bool) -> Option<usize> {
    let (width, _) = terminal_size::terminal_size().filter(|_| terminal)?;
    Some(usize::from(width.0))
}

/// One `name  value` line for each field that is not empty.
pub fn field_lines<'a>(field_lines: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let field_lines: Vec<_> =
        field_lines.into_iter().filter(|(_, what)| !what.is_empty()).collect();
    let width = field_lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    field_lines
        .iter()
        .map(|(name, what)| format!("{name:<width$}  {}\n", style::escape_controls(what)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["NAME", "HELD", "OWNER"]).right(&["HELD"]);
        table.row(["vlans".into(), "7".into(), "tenant-7".into()]);
        table.row(["a-much-longer-name".into(), "12345".into(), String::new()]);
        table
    }

    #[test]
    fn columns_fit_their_contents() {
        let wanted = "\
NAME                 HELD  OWNER
vlans                   7  tenant-7
a-much-longer-name  12345
";
        assert_eq!(sample().text(None, false), wanted);
        assert_eq!(sample().text(Some(200), false), wanted);
    }

    #[test]
    fn the_widest_column_is_cut_on_a_narrow_terminal() {
        let wanted = "\
NAME         HELD  OWNER
vlans           7  tenant-7
a-much-lo…  12345
";
        assert_eq!(sample().text(Some(27), false), wanted);
        let narrowest = sample().text(Some(1), false);
        assert!(narrowest.contains("a-muc…"), "{narrowest}");
    }

    #[test]
    fn fields_are_aligned_and_empty_ones_omitted() {
        let text = field_lines([
            ("name", "p".into()),
            ("exclude", String::new()),
            ("kind", "id32".into()),
        ]);
        assert_eq!(text, "name  p\nkind  id32\n");
    }
}
