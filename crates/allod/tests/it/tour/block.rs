//! The steps of a section of a document: commands, and the answer that stands beneath them.

#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// One or several lines for a shell.
    pub commands: String,
    /// The lines of the answer, without what marks them.
    pub answer: String,
}

/// Every step in the `sh` blocks of the section with this heading. A block without any answer is not run: it is for
/// reading.
pub fn steps(document: &str, heading: &str) -> Vec<Step> {
    let after = document.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_default();
    let section = after.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("\n```sh\n").skip(1);
    blocks.flat_map(|block| in_block(block.split("\n```").next().unwrap_or_default())).collect()
}

fn in_block(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut commands = String::new();
    for line in block.lines() {
        match line.strip_prefix('#') {
            Some(answer) => {
                if !commands.is_empty() {
                    let commands = std::mem::take(&mut commands);
                    steps.push(Step { commands, answer: String::new() });
                }
                let step = steps.last_mut().expect("an answer stands beneath a command");
                if !step.answer.is_empty() {
                    step.answer.push('\n');
                }
                step.answer.push_str(answer.strip_prefix(' ').unwrap_or(answer));
            }
            None => {
                if !commands.is_empty() {
                    commands.push('\n');
                }
                commands.push_str(line);
            }
        }
    }
    assert!(commands.is_empty() || steps.is_empty(), "without an answer: {commands}");
    steps
}

#[test]
fn steps_are_commands_with_their_answers() {
    let document = "# T\n\n## A\n\n```sh\necho no\n# no\n```\n\n## B\ntext\n\n```sh\necho 'a\nb'\n# a\n# b\necho c\n# c\n```\n\
                    \n```json\n{}\n```\n\n## C\n\n```sh\necho d\n# d\n```\n";
    let step =
        |commands: &str, answer: &str| Step { commands: commands.into(), answer: answer.into() };
    assert_eq!(steps(document, "B"), [step("echo 'a\nb'", "a\nb"), step("echo c", "c")]);
    assert_eq!(steps(document, "D"), []);
}
