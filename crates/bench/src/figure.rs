//! The result of a scenario: figures, the bars that they must meet, and notes.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The bar that a figure must meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub bar: Bar,
}

impl Figure {
    pub fn met(&self) -> bool {
        match self.bar {
            Bar::AtLeast(least) => self.value >= least,
            Bar::AtMost(most) => self.value <= most,
        }
    }

    fn value_text(&self) -> String {
        show(self.value, self.unit)
    }

    fn bar_text(&self) -> String {
        match self.bar {
            Bar::AtLeast(least) => format!("at least {}", show(least, self.unit)),
            Bar::AtMost(most) => format!("at most {}", show(most, self.unit)),
        }
    }

    fn verdict(&self) -> &'static str {
        if self.met() { "ok" } else { "missed" }
    }
}

fn show(value: f64, unit: &str) -> String {
    let number = match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

#[derive(Debug, Default)]
pub struct ScenarioReport {
    pub figures: Vec<Figure>,
    /// Lines that explain the figures.
    pub notes: Vec<String>,
}

impl ScenarioReport {
    /// Adds a figure and prints it at once, as progress of a long run.
    pub fn figure(&mut self, name: impl Into<String>, value: f64, unit: &'static str, bar: Bar) {
        let figure = Figure { name: name.into(), value, unit, bar };
        println!(
            "{}: {}  {}  {}",
            figure.name,
            figure.value_text(),
            figure.bar_text(),
            figure.verdict()
        );
        self.figures.push(figure);
    }

    pub fn note(&mut self, line: impl Into<String>) {
        let line = line.into();
        println!("  {line}");
        self.notes.push(line);
    }

    pub fn met(&self) -> bool {
        self.figures.iter().all(Figure::met)
    }

    /// The report as Markdown.
    fn markdown(&self) -> String {
        let mut out = String::from("| figure | measured | bar | |\n|---|---|---|---|\n");
        for figure in &self.figures {
            // Writing into a string cannot fail.
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                figure.name,
                figure.value_text(),
                figure.bar_text(),
                figure.verdict()
            );
        }
        if !self.notes.is_empty() {
            let _ = write!(out, "\n```text\n{}\n```\n", self.notes.join("\n"));
        }
        out
    }
}

/// Replaces the report of `scenario` in the document.
pub fn write_document(path: &Path, scenario: &str, report: &ScenarioReport) -> Result<()> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let text = replace_block(&text, scenario, &report.markdown())
        .with_context(|| format!("in {}", path.display()))?;
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn replace_block(text: &str, scenario: &str, block: &str) -> Result<String> {
    let (open, close) =
        (format!("<!-- bench {scenario} -->\n"), format!("<!-- end {scenario} -->"));
    let Some((before, rest)) = text.split_once(&open) else {
        bail!("there is no '{}'", open.trim())
    };
    let Some((_, after)) = rest.split_once(&close) else { bail!("there is no '{close}'") };
    Ok(format!("{before}{open}\n{block}\n{close}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_compared_with_their_bar() {
        let figure = |value, bar| Figure { name: "x".into(), value, unit: "%", bar };
        assert_eq!(figure(49.9, Bar::AtLeast(50.0)).verdict(), "missed");
        assert_eq!(figure(50.0, Bar::AtLeast(50.0)).verdict(), "ok");
        assert_eq!(figure(3.01, Bar::AtMost(3.0)).verdict(), "missed");
        assert_eq!(figure(f64::NAN, Bar::AtMost(3.0)).verdict(), "missed");
    }

    #[test]
    fn only_the_block_of_the_scenario_is_replaced() {
        let text =
            "top\n<!-- bench a -->\nold\n<!-- end a -->\n<!-- bench b -->\nkept\n<!-- end b -->\n";
        let new = replace_block(text, "a", "new").unwrap();
        assert!(new.contains("new") && !new.contains("old") && new.contains("kept"));
        assert_eq!(replace_block(&new, "a", "new").unwrap(), new);
        assert!(replace_block(text, "c", "new").is_err());
    }
}
