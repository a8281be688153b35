//! Tables: columns as wide as they need to be, cut to the terminal, and as they are into a pipe.

use std::io::IsTerminal;

use super::style;
use crate::failed::Failed;

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// Cut columns keep at least this much.
const WIDTH_MIN: usize = 6;
const GAP: &str = "  ";

#[derive(Debug)]
pub struct Table {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[(&'static str, Side)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| style::plain(&cell)).collect());
    }

    pub fn print(&self) -> Result<(), Failed> {
        let terminal = std::io::stdout().is_terminal();
        super::print(&self.text(width(terminal), style::coloured(terminal)))
    }

    /// The table, in lines of at most `width` characters if there is one.
    pub fn text(&self, width: Option<usize>, coloured: bool) -> String {
        let widths = self.widths(width);
        let names = self.columns.iter().map(|(name, _)| *name);
        let head = self.line(&names.collect::<Vec<_>>(), &widths);
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
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| len(name)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(len(cell));
            }
        }
        let Some(room) = width else { return widths };
        let room = room.saturating_sub(GAP.len() * widths.len().saturating_sub(1));
        // The widest column gives way first: it is the one that has most to spare.
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
        for ((cell, width), (_, side)) in cells.iter().zip(widths).zip(&self.columns) {
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let cell = cut(cell, *width);
            match side {
                Side::Left => line.push_str(&format!("{cell:<width$}")),
                Side::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// At most `width` characters of the text, with a sign where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// How wide lines may be; `None`: as wide as they are.
pub fn width(terminal: bool) -> Option<usize> {
    let (width, _) = terminal_size::terminal_size().filter(|_| terminal)?;
    Some(usize::from(width.0))
}

/// One thing: a name and what it is on each line, without those that are empty.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let facts: Vec<_> = facts.into_iter().filter(|(_, what)| !what.is_empty()).collect();
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    facts.iter().map(|(name, what)| format!("{name:<width$}  {}\n", style::plain(what))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table =
            Table::new(&[("NAME", Side::Left), ("HELD", Side::Right), ("OWNER", Side::Left)]);
        table.row(["vlans".into(), "7".into(), "tenant-7".into()]);
        table.row(["a-much-longer-name".into(), "12345".into(), String::new()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let wanted = "\
NAME                 HELD  OWNER
vlans                   7  tenant-7
a-much-longer-name  12345
";
        assert_eq!(sample().text(None, false), wanted);
        assert_eq!(sample().text(Some(200), false), wanted);
    }

    #[test]
    fn a_narrow_terminal_cuts_the_widest_column() {
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
    fn facts_stand_below_each_other() {
        let text =
            facts([("name", "p".into()), ("exclude", String::new()), ("kind", "id32".into())]);
        assert_eq!(text, "name  p\nkind  id32\n");
    }
}
