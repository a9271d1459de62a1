//! The peers: one Python process that answers one request per line.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use cfqp_cli::error::{Failure, Result};

const SCRIPT: &str = include_str!("peer.py");

/// Pause after a request: the threads of a peer spin for a while after their work, on cores that cfqp needs next.
const SETTLE: Duration = Duration::from_millis(400);

/// A Python process with PyTorch, scikit-learn or both.
pub(super) struct Peers {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    versions: BTreeSet<String>,
}

impl Peers {
    /// Starts `python`.
    pub(super) fn start(python: &str, threads: usize) -> Result<Self> {
        let mut child = Command::new(python)
            .args(["-u", "-c", SCRIPT])
            .env("CFQP_BENCH_THREADS", threads.to_string())
            .env("OMP_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let hint = "name a Python with torch and scikit-learn by --python, or omit --peers";
                Failure::new(format!("cannot start {python}: {error}"), hint)
            })?;
        let requests = child.stdin.take().expect("standard input is piped");
        let answers = BufReader::new(child.stdout.take().expect("standard output is piped"));
        Ok(Self { child, requests, answers, versions: BTreeSet::new() })
    }

    /// The number `field` of the answer to `request`; none if the peer's library is missing.
    pub(super) fn ask(&mut self, request: &str, field: &str) -> Result<Option<f64>> {
        let mut line = String::new();
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let received = sent.and_then(|()| self.answers.read_line(&mut line));
        let answer: Option<Value> = received.ok().and_then(|_| serde_json::from_str(&line).ok());
        let Some(answer) = answer else {
            let problem = format!("the peer gave no answer to `{request}`");
            return Err(Failure::new(problem, "see its own message above, or omit --peers"));
        };
        if let Some(error) = answer["error"].as_str() {
            eprintln!("skipped peer for `{request}`: {error}");
        }
        self.versions.extend(answer["version"].as_str().map(String::from));
        std::thread::sleep(SETTLE);
        Ok(answer[field].as_f64())
    }

    /// The libraries that answered, with their versions.
    pub(super) fn versions(mut self) -> Vec<String> {
        std::mem::take(&mut self.versions).into_iter().collect()
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = writeln!(self.requests, "quit");
        let _ = self.child.wait();
    }
}
