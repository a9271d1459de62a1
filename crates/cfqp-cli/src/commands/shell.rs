//! `cfqp completions` and `cfqp man`: shell completions and manual pages.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _, ValueEnum};
use clap_complete::Shell;
use serde::Serialize;

use super::markdown;
use crate::args::Cli;
use crate::error::{Failure, Result};
use crate::files::{create_folder, write_text};
use crate::format::{pluralise, shell_quote};
use crate::output::Output;

/// Print shell completions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp completions bash > ~/.local/share/bash-completion/completions/cfqp
  cfqp completions zsh > ~/.zfunc/_cfqp
  cfqp completions fish > ~/.config/fish/completions/cfqp.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = clap::builder::EnumValueParser::<Shell>::new())]
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Output> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cfqp", &mut text);
    Ok(Output::plain(String::from_utf8_lossy(&text).into_owned()))
}

/// Write manual pages, one per command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp man --out ~/.local/share/man/man1
  cfqp man --out pages && man pages/cfqp-fit.1
  cfqp man --format markdown --out docs/commands")]
pub(crate) struct ManArgs {
    /// The folder for the pages; existing pages are replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The format of the pages: roff for `man`, or Markdown
    #[arg(long, value_enum, default_value_t = PageFormat::Roff)]
    format: PageFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PageFormat {
    Roff,
    Markdown,
}

#[derive(Serialize)]
struct Report<'a> {
    out: &'a std::path::Path,
    pages: usize,
}

pub(super) fn man(args: &ManArgs) -> Result<Output> {
    create_folder(&args.out)?;
    if args.format == PageFormat::Markdown {
        let pages = markdown::write(Cli::command(), &args.out)?;
        let text = format!("wrote {} to {}\n", pluralise(pages, "page"), shell_quote(&args.out));
        return Output::new(text, &Report { out: &args.out, pages });
    }
    let pages = roff_pages()?;
    pages.iter().try_for_each(|(name, page)| write_text(&args.out.join(name), page))?;
    let pages = pages.len();
    let folder = shell_quote(&args.out);
    let text = format!("wrote {} to {folder}\nnext: man {folder}/cfqp.1\n", pluralise(pages, "page"));
    Output::new(text, &Report { out: &args.out, pages })
}

/// The manual pages of the program and of all its commands, with their file names.
fn roff_pages() -> Result<Vec<(String, String)>> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    add_pages(&program, &mut pages).map_err(|error| Failure::defect(&error))?;
    Ok(pages)
}

fn add_pages(command: &Command, pages: &mut Vec<(String, String)>) -> std::io::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), String::from_utf8_lossy(&page).into_owned()));
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).try_for_each(|sub| add_pages(sub, pages))
}
