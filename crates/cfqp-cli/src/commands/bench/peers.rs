//! The peers: one Python process that is asked a line at a time.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::error::{Failure, Result};

const SCRIPT: &str = include_str!("../../../../../benches/peers/peer.py");

/// A peer's threads go on spinning for a while after their work, on cores that are ours next.
const SETTLE: Duration = Duration::from_millis(400);

/// A Python that has PyTorch, scikit-learn or both.
pub struct Peers {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    versions: BTreeSet<String>,
}

impl Peers {
    /// Start `python`.
    pub fn start(python: &str, threads: usize) -> Result<Self> {
        let mut child = Command::new(python)
            .args(["-u", "-c", SCRIPT])
            .env("CFQP_BENCH_THREADS", threads.to_string())
            .env("OMP_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let hint =
                    "give the Python that has torch and scikit-learn with --python, or leave out --peers";
                Failure::new(format!("cannot start {python}: {error}"), hint)
            })?;
        let requests = child.stdin.take().expect("standard input was asked for");
        let answers = BufReader::new(child.stdout.take().expect("standard output was asked for"));
        Ok(Self { child, requests, answers, versions: BTreeSet::new() })
    }

    /// The number called `field` of the answer to `request`; none where the peer's library is not there.
    pub fn ask(&mut self, request: &str, field: &str) -> Result<Option<f64>> {
        let mut line = String::new();
        let asked = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let heard = asked.and_then(|()| self.answers.read_line(&mut line));
        let answer: Option<Value> = heard.ok().and_then(|_| serde_json::from_str(&line).ok());
        let Some(answer) = answer else {
            let problem = format!("the peer gave no answer to `{request}`");
            return Err(Failure::new(problem, "its own message stands above; or leave out --peers"));
        };
        if let Some(error) = answer["error"].as_str() {
            eprintln!("no peer for `{request}`: {error}");
        }
        self.versions.extend(answer["version"].as_str().map(String::from));
        std::thread::sleep(SETTLE);
        Ok(answer[field].as_f64())
    }

    /// What answered.
    pub fn versions(mut self) -> Vec<String> {
        std::mem::take(&mut self.versions).into_iter().collect()
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = writeln!(self.requests, "quit");
        let _ = self.child.wait();
    }
}
