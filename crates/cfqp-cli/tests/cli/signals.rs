//! Signals in every command that writes: a file is the old one or complete, and nothing else is left.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use crate::writers::{WRITERS, contents, inputs, temporary};
use crate::{command, succeed, text};

fn start(folder: &Path, line: &str) -> Child {
    let args: Vec<&str> = line.split_whitespace().collect();
    command(folder, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends the signal and waits for the program to end.
fn end(program: Child, signal: i32) -> Output {
    // SAFETY: the process is a child that has not been waited for, so its id is valid.
    assert_eq!(unsafe { libc::kill(program.id() as i32, signal) }, 0);
    program.wait_with_output().unwrap()
}

/// Checks how a program ended, and that each of its files is as before or as after the whole command.
fn check(line: &str, signal: i32, output: &Output, folder: &Path, old: &Files, new: &Files) {
    let stderr = text(&output.stderr);
    let status = output.status;
    // before the program has set itself up, or with SIGKILL, the signal ends it
    let is_ended = matches!(status.code(), Some(0 | 130)) || status.signal() == Some(signal);
    assert!(is_ended, "{line}: {status:?} {stderr}");
    assert!(!stderr.contains("panicked"), "{line}: {stderr}");
    if status.code() == Some(130) {
        assert!(stderr.contains("error: interrupted\nhint: "), "{line}: {stderr}");
    }
    for (name, content) in contents(folder) {
        let is_part = name.ends_with(".cfqp.part");
        let is_temporary = temporary(folder).contains(&name);
        assert!(!is_temporary || signal == libc::SIGKILL, "{line}: {name} is left: {stderr}");
        let is_known = old.get(&name) == Some(&content) || new.get(&name) == Some(&content);
        assert!(is_known || is_part || is_temporary, "{line}: {name} is neither the old nor the new file");
    }
    let is_lost = old.keys().find(|name| !folder.join(name).exists());
    assert_eq!(is_lost, None, "{line}");
}

type Files = BTreeMap<String, Vec<u8>>;

const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGKILL];

#[test]
fn a_signal_leaves_old_or_complete_files() {
    let folder = inputs();
    let path = folder.path();
    for (line, files) in WRITERS {
        let clock = Instant::now();
        succeed(path, line);
        let (new, time) = (contents(path), clock.elapsed());
        for file in files {
            std::fs::write(path.join(file), "old").unwrap();
        }
        let old = contents(path);
        for (signal, share) in SIGNALS.into_iter().flat_map(|signal| [0.3, 0.6, 0.9].map(|at| (signal, at))) {
            let program = start(path, line);
            std::thread::sleep(time.mul_f64(share));
            check(line, signal, &end(program, signal), path, &old, &new);
        }
        // the next run removes what a killed one has left
        let _ = std::fs::remove_file(path.join("new.cfqp.part"));
        succeed(path, line);
        assert_eq!(contents(path), new, "{line}");
        for name in new.keys().filter(|name| files.contains(&name.as_str())) {
            std::fs::remove_file(path.join(name)).unwrap();
        }
    }
}

/// Waits until a file is being written.
fn wait_for_temporary(program: &mut Child, folder: &Path) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while temporary_name(folder).is_none() {
        assert!(program.try_wait().unwrap().is_none(), "the program ended before it was seen to write");
        assert!(Instant::now() < deadline, "nothing is written");
    }
}

fn temporary_name(folder: &Path) -> Option<String> {
    let names = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).find(|name| name.starts_with(".cfqp-"))
}

#[test]
fn a_signal_in_the_middle_of_writing_leaves_no_temporary_file() {
    let folder = inputs();
    let path = folder.path();
    succeed(path, "simulate table --world single --n 20000 --out big.csv -q");
    let lines = [
        "simulate oscillator --n 20000 --out new.npz",
        "simulate table --world wide --n 20000 --out new.csv",
        "query m.cfqp big.csv --treatment 0.5 --threads 1 --out new.csv",
        "query m.cfqp big.csv --treatment 0.5 --threads 1 --out new.npz",
        "effect m.cfqp big.csv --from 0.2 --to 0.8 --threads 1 --out new.parquet",
        "curve m.cfqp big.csv --grid 0:1:4 --threads 1 --out new.jsonl",
    ];
    let before = contents(path);
    for (line, signal) in lines.iter().flat_map(|line| SIGNALS.map(|signal| (line, signal))) {
        let mut program = start(path, line);
        wait_for_temporary(&mut program, path);
        let output = end(program, signal);
        let stderr = text(&output.stderr);
        if signal == libc::SIGKILL {
            assert_eq!(output.status.signal(), Some(signal), "{line}: {stderr}");
            succeed(path, "simulate oscillator --n 10 --force --out other.npz");
            std::fs::remove_file(path.join("other.npz")).unwrap();
        } else {
            assert_eq!(output.status.code(), Some(130), "{line}: {stderr}");
        }
        assert!(contents(path) == before, "{line}: {:?}", contents(path).keys());
    }
}

#[test]
fn a_demo_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    for signal in SIGNALS {
        let program = start(folder.path(), "demo --out demo");
        let deadline = Instant::now() + Duration::from_secs(120);
        while !folder.path().join("demo/test.npz").exists() {
            assert!(Instant::now() < deadline, "the demo writes nothing");
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = end(program, signal);
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(130) || output.status.signal() == Some(signal), "{stderr}");
        let names: Vec<String> = contents(folder.path()).into_keys().collect();
        assert_eq!(names, ["demo/test.npz", "demo/train.npz"]);
        std::fs::remove_dir_all(folder.path().join("demo")).unwrap();
    }
}

#[test]
fn a_second_signal_ends_a_fit_at_once() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), "simulate oscillator --n 400 --out data.npz");
    let fit = start(folder.path(), "fit data.npz --base unet --out model.cfqp");
    std::thread::sleep(Duration::from_millis(700));
    for _ in 0..2 {
        // SAFETY: the process is a child that has not been waited for, so its id is valid.
        assert_eq!(unsafe { libc::kill(fit.id() as i32, libc::SIGTERM) }, 0);
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = fit.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(temporary(folder.path()), [""; 0]);
    assert!(!folder.path().join("model.cfqp").exists());
}
