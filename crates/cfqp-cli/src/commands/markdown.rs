//! Markdown pages of the commands, generated from their help.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command};

use crate::error::Result;
use crate::files::write_text;

/// Writes a page for each command of `cli` and an index into `folder`; returns the number of pages.
pub(super) fn write(cli: Command, folder: &Path) -> Result<usize> {
    let mut cli = cli.disable_help_subcommand(true).term_width(100);
    cli.build();
    let mut pages = Vec::new();
    collect(&cli, "cfqp", &mut pages);
    let mut index = "# Commands\n\nOne page per command, generated from its help by `cfqp man --format markdown --out docs/commands`.\n\n| | |\n|---|---|\n".to_owned();
    for (name, about, text) in &pages {
        let file = format!("{}.md", name.replace(' ', "-"));
        let _ = writeln!(index, "| [`{name}`]({file}) | {about} |");
        write_text(&folder.join(file), text)?;
    }
    write_text(&folder.join("README.md"), &index)?;
    Ok(pages.len() + 1)
}

/// Collects name, purpose and page of every subcommand of `command`.
fn collect(command: &Command, name: &str, pages: &mut Vec<(String, String, String)>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("{name} {}", sub.get_name());
        let about = sub.get_about().map(|about| one_line(&about.to_string())).unwrap_or_default();
        pages.push((name.clone(), about.clone(), page(sub, &name, &about)));
        collect(sub, &name, pages);
    }
}

fn page(command: &Command, name: &str, about: &str) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let stop = if about.ends_with(['.', '?', ')']) { "" } else { "." };
    let mut out = format!("# {name}\n\n{about}{stop}\n\n    {usage}\n");
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version";
    let (places, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(shown).partition(|arg| arg.is_positional());
    for (heading, args) in [("Arguments", places), ("Options", options)] {
        if !args.is_empty() {
            let _ = write!(out, "\n## {heading}\n\n| | |\n|---|---|\n");
            args.iter().for_each(|arg| out += &row(arg));
        }
    }
    let subs: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    if !subs.is_empty() {
        out += "\n## Commands\n\n";
        for sub in subs {
            let (full, own) = (format!("{name} {}", sub.get_name()), sub.get_name());
            let _ = writeln!(out, "- [`{own}`]({}.md)", full.replace(' ', "-"));
        }
    }
    if let Some(after) = command.get_after_help() {
        out += &examples(&after.to_string());
    }
    out
}

/// An argument with its value, its help, and its possible values.
fn row(arg: &Arg) -> String {
    let value = arg.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let name = match (arg.is_positional(), arg.get_short(), arg.get_long()) {
        (true, ..) => value,
        (false, short, long) => {
            let flags: Vec<String> = short
                .map(|c| format!("-{c}"))
                .into_iter()
                .chain(long.map(|name| format!("--{name}")))
                .collect();
            flags.join(", ") + &if takes { format!(" {value}") } else { String::new() }
        }
    };
    let mut help = arg.get_help().map(|help| one_line(&help.to_string())).unwrap_or_default();
    let values: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if takes && !values.is_empty() {
        let _ = write!(help, "; one of {}", values.join(", "));
    }
    let default: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes && !default.is_empty() {
        let _ = write!(help, " [default: {}]", default.join(","));
    }
    format!("| `{}` | {} |\n", name.replace('|', "\\|"), help.replace('|', "\\|").replace('<', "&lt;"))
}

/// The text after the options: indented lines are commands, the rest are paragraphs.
fn examples(text: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for line in text.lines() {
        let indented = line.starts_with("  ");
        if indented != code {
            code = indented;
            if !line.is_empty() {
                out.push('\n');
            }
        }
        match line.strip_suffix(':') {
            Some(heading) if !indented && !heading.contains(' ') => {
                let _ = writeln!(out, "\n## {heading}");
            }
            _ if indented => {
                let _ = writeln!(out, "    {}", &line[2..]);
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
