//! The `pattern` of a string type: a regular expression of XML Schema, which always matches the whole value.
//!
//! It is compiled to a small program that is run with all alternatives at a time, so the time is the length of the value
//! times that of the pattern, whatever they are.

use std::iter::Peekable;
use std::str::Chars;

/// More steps than this refuse a pattern: `(a{1000}){1000}`.
const STEPS_MAX: usize = 20_000;

/// Nested groups.
const DEPTH_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    steps: Vec<Step>,
    /// Whether values must not match.
    inverted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    One(CharSet),
    /// Continues at both.
    Split(usize, usize),
    Jump(usize),
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct CharSet {
    parts: Vec<CharPart>,
    inverted: bool,
    /// Characters that are taken out.
    without: Option<Box<CharSet>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CharPart {
    Range(char, char),
    Property(Property),
    Set(CharSet),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Property {
    Letter,
    Upper,
    Lower,
    Number,
    Digit,
    Space,
    NameStart,
    NamePart,
}

impl Pattern {
    /// An error says what is wrong with the pattern, or what is not supported.
    pub fn compile(text: &str, inverted: bool) -> Result<Pattern, String> {
        let mut parser = PatternParser { chars: text.chars().peekable() };
        let tree = parser.alternatives(0)?;
        if let Some(char) = parser.chars.next() {
            return Err(format!("unexpected '{char}'"));
        }
        let mut steps = Vec::new();
        emit(&tree, &mut steps)?;
        steps.push(Step::Done);
        Ok(Pattern { steps, inverted })
    }

    pub fn allows(&self, text: &str) -> bool {
        self.matches(text) != self.inverted
    }

    fn matches(&self, text: &str) -> bool {
        let mut at = vec![false; self.steps.len()];
        self.follow(0, &mut at);
        for char in text.chars() {
            let mut next = vec![false; self.steps.len()];
            for (n, step) in self.steps.iter().enumerate() {
                if at[n] && matches!(step, Step::One(set) if set.has(char)) {
                    self.follow(n + 1, &mut next);
                }
            }
            at = next;
        }
        self.steps.iter().zip(at).any(|(step, at)| at && *step == Step::Done)
    }

    /// Marks this step and those that follow without a character.
    fn follow(&self, from: usize, at: &mut [bool]) {
        let mut left = vec![from];
        while let Some(step) = left.pop() {
            if std::mem::replace(&mut at[step], true) {
                continue;
            }
            match self.steps[step] {
                Step::Split(one, other) => left.extend([one, other]),
                Step::Jump(to) => left.push(to),
                Step::One(_) | Step::Done => {}
            }
        }
    }
}

impl CharSet {
    fn of(part: CharPart) -> CharSet {
        CharSet { parts: vec![part], ..CharSet::default() }
    }

    fn inverted(self) -> CharSet {
        CharSet { inverted: !self.inverted, ..self }
    }

    fn has(&self, char: char) -> bool {
        let found = self.parts.iter().any(|part| match part {
            CharPart::Range(first, last) => (*first..=*last).contains(&char),
            CharPart::Property(property) => property.has(char),
            CharPart::Set(set) => set.has(char),
        });
        found != self.inverted && !self.without.as_ref().is_some_and(|without| without.has(char))
    }
}

impl Property {
    fn has(self, char: char) -> bool {
        match self {
            Property::Letter => char.is_alphabetic(),
            Property::Upper => char.is_uppercase(),
            Property::Lower => char.is_lowercase(),
            Property::Number => char.is_numeric(),
            // Those of other scripts are left out: a program that reads the value does not expect them.
            Property::Digit => char.is_ascii_digit(),
            Property::Space => matches!(char, ' ' | '\t' | '\n' | '\r'),
            Property::NameStart => char.is_alphabetic() || matches!(char, '_' | ':'),
            Property::NamePart => {
                char.is_alphanumeric() || matches!(char, '_' | ':' | '-' | '.' | '·')
            }
        }
    }
}

/// A regular expression.
enum Tree {
    Set(CharSet),
    Sequence(Vec<Tree>),
    Alternatives(Vec<Tree>),
    /// `None`: without an upper limit.
    Repeat(Box<Tree>, u32, Option<u32>),
}

fn emit(tree: &Tree, steps: &mut Vec<Step>) -> Result<(), String> {
    if steps.len() > STEPS_MAX {
        return Err(format!("it needs more than {STEPS_MAX} steps"));
    }
    match tree {
        Tree::Set(set) => steps.push(Step::One(set.clone())),
        Tree::Sequence(all) => all.iter().try_for_each(|one| emit(one, steps))?,
        Tree::Alternatives(all) => {
            let mut ends = Vec::new();
            for (n, one) in all.iter().enumerate() {
                let split = steps.len();
                let is_last = n + 1 == all.len();
                if !is_last {
                    steps.push(Step::Done);
                }
                emit(one, steps)?;
                if !is_last {
                    ends.push(steps.len());
                    steps.push(Step::Done);
                    steps[split] = Step::Split(split + 1, steps.len());
                }
            }
            let end = steps.len();
            ends.into_iter().for_each(|at| steps[at] = Step::Jump(end));
        }
        Tree::Repeat(one, least, most) => {
            for _ in 0..*least {
                emit(one, steps)?;
            }
            match most {
                None => {
                    let split = steps.len();
                    steps.push(Step::Done);
                    emit(one, steps)?;
                    steps.push(Step::Jump(split));
                    steps[split] = Step::Split(split + 1, steps.len());
                }
                Some(most) => {
                    let mut splits = Vec::new();
                    for _ in *least..*most {
                        splits.push(steps.len());
                        steps.push(Step::Done);
                        emit(one, steps)?;
                    }
                    let end = steps.len();
                    splits.into_iter().for_each(|at| steps[at] = Step::Split(at + 1, end));
                }
            }
        }
    }
    Ok(())
}

struct PatternParser<'a> {
    chars: Peekable<Chars<'a>>,
}

impl PatternParser<'_> {
    fn alternatives(&mut self, depth: usize) -> Result<Tree, String> {
        if depth > DEPTH_MAX {
            return Err("groups are nested too deeply".into());
        }
        let mut all = vec![self.sequence(depth)?];
        while self.chars.next_if_eq(&'|').is_some() {
            all.push(self.sequence(depth)?);
        }
        Ok(Tree::Alternatives(all))
    }

    fn sequence(&mut self, depth: usize) -> Result<Tree, String> {
        let mut all = Vec::new();
        while let Some(char) = self.chars.next_if(|char| !matches!(char, '|' | ')')) {
            let one = match char {
                '(' => {
                    let inner = self.alternatives(depth + 1)?;
                    self.chars.next_if_eq(&')').ok_or("a group is not closed")?;
                    inner
                }
                '[' => Tree::Set(self.class(depth)?),
                '.' => {
                    let breaks = CharSet {
                        parts: vec![CharPart::Range('\n', '\n'), CharPart::Range('\r', '\r')],
                        ..CharSet::default()
                    };
                    Tree::Set(breaks.inverted())
                }
                '\\' => Tree::Set(self.escape()?),
                '*' | '+' | '?' | '{' | '}' | ']' => return Err(format!("unexpected '{char}'")),
                char => Tree::Set(CharSet::of(CharPart::Range(char, char))),
            };
            all.push(self.repeated(one)?);
        }
        Ok(Tree::Sequence(all))
    }

    fn repeated(&mut self, one: Tree) -> Result<Tree, String> {
        let Some(char) = self.chars.next_if(|char| matches!(char, '*' | '+' | '?' | '{')) else {
            return Ok(one);
        };
        let (least, most) = match char {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => self.quantity()?,
        };
        Ok(Tree::Repeat(Box::new(one), least, most))
    }

    /// `3}`, `3,}` or `3,5}`.
    fn quantity(&mut self) -> Result<(u32, Option<u32>), String> {
        let text: String = std::iter::from_fn(|| self.chars.next_if(|char| *char != '}')).collect();
        self.chars.next_if_eq(&'}').ok_or("a quantity is not closed")?;
        let wrong = || format!("'{{{text}}}' is not a quantity");
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let quantity = match text.split_once(',') {
            None => (number(&text)?, Some(number(&text)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        match quantity {
            (least, Some(most)) if least > most => Err(wrong()),
            (least, most) if least.max(most.unwrap_or(0)) as usize > STEPS_MAX => Err(wrong()),
            quantity => Ok(quantity),
        }
    }

    /// The content of brackets, after the first one.
    fn class(&mut self, depth: usize) -> Result<CharSet, String> {
        if depth > DEPTH_MAX {
            return Err("classes are nested too deeply".into());
        }
        let mut set = CharSet::default();
        let inverted = self.chars.next_if_eq(&'^').is_some();
        loop {
            let char = self.chars.next().ok_or("a class is not closed")?;
            match char {
                ']' if !set.parts.is_empty() => break,
                '-' if self.chars.peek() == Some(&'[') && !set.parts.is_empty() => {
                    self.chars.next();
                    set.without = Some(Box::new(self.class(depth + 1)?));
                    self.chars.next_if_eq(&']').ok_or("a class is not closed")?;
                    break;
                }
                '[' => return Err("unexpected '[' in a class".into()),
                '\\' => {
                    let escaped = self.escape()?;
                    let first = match escaped.parts[..] {
                        [CharPart::Range(first, last)] if first == last && !escaped.inverted => {
                            first
                        }
                        _ => {
                            set.parts.push(CharPart::Set(escaped));
                            continue;
                        }
                    };
                    let last = self.range_end(first)?;
                    set.parts.push(CharPart::Range(first, last));
                }
                first => {
                    let last = self.range_end(first)?;
                    set.parts.push(CharPart::Range(first, last));
                }
            }
        }
        Ok(CharSet { inverted, ..set })
    }

    /// The last character of a range; the first one if there is no range.
    fn range_end(&mut self, first: char) -> Result<char, String> {
        let mut ahead = self.chars.clone();
        if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']' | '[')) {
            return Ok(first);
        }
        self.chars.next();
        let last = match self.chars.next() {
            Some('\\') => match self.escape()?.parts[..] {
                [CharPart::Range(first, last)] if first == last => last,
                _ => return Err("a range ends with a class".into()),
            },
            Some(last) => last,
            None => return Err("a class is not closed".into()),
        };
        if first <= last { Ok(last) } else { Err(format!("the range '{first}-{last}' is empty")) }
    }

    fn escape(&mut self) -> Result<CharSet, String> {
        let char = self.chars.next().ok_or("a backslash at the end")?;
        let one = |char| CharSet::of(CharPart::Range(char, char));
        let property = |property| CharSet::of(CharPart::Property(property));
        Ok(match char {
            'n' => one('\n'),
            'r' => one('\r'),
            't' => one('\t'),
            'd' => property(Property::Digit),
            'D' => property(Property::Digit).inverted(),
            's' => property(Property::Space),
            'S' => property(Property::Space).inverted(),
            'i' => property(Property::NameStart),
            'I' => property(Property::NameStart).inverted(),
            'c' => property(Property::NamePart),
            'C' => property(Property::NamePart).inverted(),
            'w' | 'W' => {
                let word = CharSet {
                    parts: vec![
                        CharPart::Property(Property::Letter),
                        CharPart::Property(Property::Number),
                    ],
                    ..CharSet::default()
                };
                if char == 'w' { word } else { word.inverted() }
            }
            'p' | 'P' => {
                let set = property(self.property()?);
                if char == 'p' { set } else { set.inverted() }
            }
            _ if char.is_ascii_alphanumeric() => return Err(format!("unknown escape '\\{char}'")),
            char => one(char),
        })
    }

    fn property(&mut self) -> Result<Property, String> {
        self.chars.next_if_eq(&'{').ok_or("'{' is expected after \\p")?;
        let name: String = std::iter::from_fn(|| self.chars.next_if(|char| *char != '}')).collect();
        self.chars.next_if_eq(&'}').ok_or("a property is not closed")?;
        match &*name {
            "L" => Ok(Property::Letter),
            "Lu" => Ok(Property::Upper),
            "Ll" => Ok(Property::Lower),
            "N" => Ok(Property::Number),
            "Nd" => Ok(Property::Digit),
            _ => Err(format!("the property '{name}' is not supported; L, Lu, Ll, N and Nd are")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_whole_values() {
        for (pattern, yes, no) in [
            ("", &[""][..], &["a"][..]),
            ("abc", &["abc"], &["", "ab", "abcd", "xabc"]),
            ("a|bc|", &["a", "bc", ""], &["abc", "b"]),
            ("(ab)*c?", &["", "c", "abab", "ababc"], &["a", "abcc"]),
            (
                "[0-9]{1,3}(\\.[0-9]{1,3}){3}",
                &["10.0.0.1"],
                &["10.0.0", "10.0.0.1.2", "1000.0.0.1"],
            ),
            ("[^a-c\\-]+", &["xyz", "1"], &["", "xa", "x-"]),
            ("[a-z-[aeiou]]+", &["xyz"], &["xaz", "e"]),
            ("[-+]?\\d+", &["-1", "+12", "7"], &["--1", "x"]),
            ("[+\\-a]", &["+", "-", "a"], &["b"]),
            ("\\p{Lu}\\p{Ll}*[\\p{N}_]", &["Ab1", "Ä_"], &["ab1", "AB1"]),
            ("\\i\\c*", &["a-b.c", "_1"], &["1a", "-"]),
            ("\\w+\\s\\S", &["ab c"], &["ab  "]),
            (".{2,}", &["ab", "äöü"], &["a", "a\n"]),
            ("x{0}y", &["y"], &["xy"]),
            ("(a{2}|b){1,2}", &["aa", "b", "aab", "bb"], &["a", "bbb"]),
            ("^$", &["^$"], &[""]),
        ] {
            let compiled = Pattern::compile(pattern, false).unwrap();
            for text in yes {
                assert!(compiled.allows(text), "{pattern} on '{text}'");
            }
            for text in no {
                assert!(!compiled.allows(text), "{pattern} on '{text}'");
            }
        }
        assert!(!Pattern::compile("[xX][mM][lL].*", true).unwrap().allows("xmlx"));
        assert!(Pattern::compile("[xX][mM][lL].*", true).unwrap().allows("x"));
    }

    #[test]
    fn invalid_and_endless_patterns_are_refused_or_harmless() {
        for (pattern, why) in [
            ("(a", "a group is not closed"),
            ("a)", "unexpected ')'"),
            ("*", "unexpected '*'"),
            ("[a", "a class is not closed"),
            ("[]", "a class is not closed"),
            ("[z-a]", "the range 'z-a' is empty"),
            ("a{2,1}", "'{2,1}' is not a quantity"),
            ("a{x}", "'{x}' is not a quantity"),
            ("a\\", "a backslash at the end"),
            ("\\b", "unknown escape '\\b'"),
            ("\\p{IsGreek}", "the property 'IsGreek' is not supported; L, Lu, Ll, N and Nd are"),
            ("((a{1000}){1000}){1000}", "it needs more than 20000 steps"),
        ] {
            assert_eq!(Pattern::compile(pattern, false).unwrap_err(), why, "{pattern}");
        }
        assert!(Pattern::compile(&"(".repeat(1000), false).is_err());
        let slow = Pattern::compile("(a*)*b", false).unwrap();
        assert!(!slow.allows(&"a".repeat(5000)));
    }
}
