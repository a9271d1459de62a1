//! `cfqp completions` and `cfqp man`: what a shell and a pager want to know.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use serde::Serialize;

use super::markdown;
use crate::args::Cli;
use crate::error::{Failure, Result};
use crate::output::Output;
use crate::table::{counted, shell};

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfqp completions bash > ~/.local/share/bash-completion/completions/cfqp
  cfqp completions zsh > ~/.zfunc/_cfqp
  cfqp completions fish > ~/.config/fish/completions/cfqp.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = clap::builder::EnumValueParser::<Shell>::new())]
    shell: Shell,
}

pub fn completions(args: &CompletionsArgs) -> Result<Output> {
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
pub struct ManArgs {
    /// The folder for the pages; pages that are there are replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// What the pages are written in: roff for `man`, or Markdown
    #[arg(long, default_value = "roff", value_parser = ["roff", "markdown"])]
    format: String,
}

#[derive(Serialize)]
struct Report<'a> {
    out: &'a std::path::Path,
    pages: usize,
}

pub fn man(args: &ManArgs) -> Result<Output> {
    if args.out.is_file() {
        return Err(Failure::new(format!("{}: it is a file", args.out.display()), "give --out a folder"));
    }
    std::fs::create_dir_all(&args.out).map_err(|error| Failure::io(&args.out, error))?;
    if args.format == "markdown" {
        let pages = markdown::write(Cli::command(), &args.out)?;
        let text = format!("wrote {} to {}\n", counted(pages, "page"), shell(&args.out));
        return Output::new(text, &Report { out: &args.out, pages });
    }
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), &args.out)
        .map_err(|error| Failure::io(&args.out, error))?;
    let entries = std::fs::read_dir(&args.out).map_err(|error| Failure::io(&args.out, error))?;
    let page = |name: String| name.starts_with("cfqp") && name.ends_with(".1");
    let pages =
        entries.flatten().filter(|entry| page(entry.file_name().to_string_lossy().into_owned())).count();
    let folder = shell(&args.out);
    let text = format!("wrote {} to {folder}\nnext: man {folder}/cfqp.1\n", counted(pages, "page"));
    Output::new(text, &Report { out: &args.out, pages })
}
