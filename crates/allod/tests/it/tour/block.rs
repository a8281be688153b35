//! The steps of a document: commands, and the output that the document shows beneath them.

#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// One or several lines for a shell.
    pub commands: String,
    /// The lines of the output, without the leading `# `.
    pub output: String,
}

/// The part of a document from this heading to the next one of the same level.
pub fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let after = document.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_default();
    after.split("\n## ").next().unwrap_or_default()
}

/// Every step in the `sh` blocks of a text. A block that shows no output is not run.
pub fn steps(text: &str) -> Vec<Step> {
    let blocks = text.split("\n```sh\n").skip(1);
    blocks.flat_map(|block| in_block(block.split("\n```").next().unwrap_or_default())).collect()
}

fn in_block(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut commands = String::new();
    for line in block.lines() {
        match line.strip_prefix('#') {
            Some(output) => {
                if !commands.is_empty() {
                    let commands = std::mem::take(&mut commands);
                    steps.push(Step { commands, output: String::new() });
                }
                let step = steps.last_mut().expect("output is shown beneath a command");
                if !step.output.is_empty() {
                    step.output.push('\n');
                }
                step.output.push_str(output.strip_prefix(' ').unwrap_or(output));
            }
            None => {
                if !commands.is_empty() {
                    commands.push('\n');
                }
                commands.push_str(line);
            }
        }
    }
    if !commands.is_empty() && !steps.is_empty() {
        steps.push(Step { commands, output: String::new() });
    }
    steps
}

#[test]
fn steps_are_commands_with_their_output() {
    let document = "# T\n\n## A\n\n```sh\necho no\n# no\n```\n\n## B\ntext\n\n```sh\necho 'a\nb'\n# a\n# b\necho c\n# c\ntrue\n```\n\
                    \n```json\n{}\n```\n\n```sh\necho not run\n```\n\n## C\n\n```sh\necho d\n# d\n```\n";
    let step =
        |commands: &str, output: &str| Step { commands: commands.into(), output: output.into() };
    assert_eq!(
        steps(section(document, "B")),
        [step("echo 'a\nb'", "a\nb"), step("echo c", "c"), step("true", "")]
    );
    assert_eq!(steps(document).len(), 5);
    assert_eq!(steps(section(document, "D")), []);
}
