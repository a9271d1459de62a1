//! Full disks, folders without permission, several programs at once, inputs that change, clocks that are wrong.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs::{File, FileTimes, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use crate::writers::{WRITERS, contents, inputs, temporary};
use crate::{cfqp, command, succeed, text};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Runs `cfqp` with a limit on the size of files, as on a full disk.
fn with_room(folder: &Path, line: &str, bytes: u64) -> Output {
    let mut limited = command(folder, &words(line));
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: both are system calls that may be made between fork and exec.
    unsafe {
        limited.pre_exec(move || {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            if libc::setrlimit(libc::RLIMIT_FSIZE, &limit) == 0 {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        });
    }
    limited.output().unwrap()
}

/// Checks an error of `line`: exit code 2, a message with a hint, no panic.
fn assert_refused(line: &str, output: &Output) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
    assert!(stderr.contains("error: ") && stderr.contains("hint: "), "{line}: {stderr}");
    assert!(!stderr.contains("panicked"), "{line}: {stderr}");
}

#[test]
fn a_full_disk_is_an_error_and_old_files_stay() {
    let folder = inputs();
    let path = folder.path();
    for (line, files) in WRITERS {
        let before = contents(path);
        succeed(path, &format!("{line} -q"));
        let size = |file: &&str| std::fs::metadata(path.join(file)).unwrap().len();
        let sizes: Vec<u64> = files.iter().map(size).collect();
        let whole = contents(path);
        let rooms = [0, 1, sizes[0] / 2, sizes[0] - 1];
        for room in rooms {
            let output = with_room(path, line, room);
            assert_refused(&format!("{line}, {room} bytes"), &output);
            // the finished work of a fit can still be used
            let _ = std::fs::remove_file(path.join("new.cfqp.part"));
            assert_eq!(contents(path), whole, "{line}, {room} bytes");
        }
        for name in whole.keys().filter(|name| !before.contains_key(*name)) {
            std::fs::remove_file(path.join(name)).unwrap();
        }
        // without old files, nothing is left
        let output = with_room(path, line, 0);
        assert_refused(line, &output);
        assert_eq!(contents(path), before, "{line}");
    }
}

/// Makes a command run as somebody whom permissions bind: root may write everywhere.
fn bind_by_permissions(command: &mut Command) {
    // SAFETY: the call has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(65534).gid(65534);
    }
}

/// Whether the program can be run that way: not if it lies in a folder that only root can enter.
fn permissions_bind(folder: &Path) -> bool {
    let mut version = command(folder, &["--version"]);
    bind_by_permissions(&mut version);
    version.output().is_ok_and(|output| output.status.success())
}

#[test]
fn without_permission_nothing_is_written() {
    let folder = inputs();
    let path = folder.path();
    std::fs::set_permissions(path, Permissions::from_mode(0o555)).unwrap();
    if !permissions_bind(path) {
        eprintln!("skipped: the program cannot be run as another user");
        return;
    }
    let before = contents(path);
    let refuse = |line: &str| {
        let mut command = command(path, &words(line));
        bind_by_permissions(&mut command);
        let output = command.output().unwrap();
        assert_refused(line, &output);
        let stderr = text(&output.stderr);
        assert!(stderr.to_lowercase().contains("permission denied"), "{line}: {stderr}");
        assert_eq!(contents(path), before, "{line}");
    };
    for (line, _) in WRITERS {
        refuse(line);
    }
    refuse("demo --out demo");
    // inputs that may not be read
    for name in ["data.csv", "m.cfqp", "series.npz"] {
        std::fs::set_permissions(path.join(name), Permissions::from_mode(0o000)).unwrap();
    }
    refuse("check data.csv --x x* --t t --y y");
    refuse("check series.npz");
    refuse("model show m.cfqp");
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn programs_that_write_to_one_file_leave_a_complete_one() {
    let folder = inputs();
    let path = folder.path();
    let start = |line: &str| {
        let mut program = command(path, &words(line));
        program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for (line, files) in [WRITERS[0], WRITERS[6], WRITERS[8], WRITERS[11]] {
        succeed(path, line);
        let expected = contents(path);
        let programs: Vec<_> = (0..4).map(|_| start(line)).collect();
        for program in programs {
            let output = program.wait_with_output().unwrap();
            assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        }
        assert_eq!(contents(path), expected, "{line}: {files:?}");
    }
}

#[test]
fn fits_with_one_checkpoint_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeed(path, "simulate oscillator --n 150 --out data.npz");
    let fit = "fit data.npz --base linear --max-classes 3 --members 3 --init kmeans,gmm -q --force --out";
    succeed(path, &format!("{fit} whole.cfqp"));
    let expected = std::fs::read(path.join("whole.cfqp")).unwrap();
    for resume in ["", " --resume"] {
        let line = format!("{fit} one.cfqp{resume}");
        let start = |_| command(path, &words(&line)).stderr(Stdio::piped()).spawn().unwrap();
        let fits: Vec<_> = (0..3).map(start).collect();
        let mut succeeded = 0;
        for fit in fits {
            let output = fit.wait_with_output().unwrap();
            let stderr = text(&output.stderr);
            if output.status.success() {
                succeeded += 1;
            } else {
                assert_refused(&line, &output);
                assert!(stderr.contains("one.cfqp.part: another fit is using this checkpoint"), "{stderr}");
            }
        }
        assert!(succeeded > 0, "{line}");
        assert!(std::fs::read(path.join("one.cfqp")).unwrap() == expected, "{line}: another model");
        assert_eq!(temporary(path), [""; 0]);
        std::fs::remove_file(path.join("one.cfqp")).unwrap();
    }
}

/// What happens to an input while it is read.
fn disturb(input: &Path, content: &[u8], how: usize) {
    match how {
        0 => std::fs::remove_file(input).unwrap(),
        1 => File::options().write(true).open(input).unwrap().set_len(content.len() as u64 / 2).unwrap(),
        _ => {
            let mut file = File::options().append(true).open(input).unwrap();
            let lines = content.split_inclusive(|byte| *byte == b'\n').skip(1);
            // half a row, as by a program that is still writing
            let rows: Vec<u8> = lines.take(200).flatten().copied().collect();
            file.write_all(&rows[..rows.len() - 5]).unwrap();
        }
    }
}

#[test]
fn an_input_that_changes_is_an_error_or_read_as_it_is() {
    let folder = inputs();
    let path = folder.path();
    succeed(path, "simulate table --world single --n 20000 --out big.csv -q");
    succeed(path, "simulate table --world single --n 20000 --out large.parquet -q");
    succeed(path, "simulate oscillator --n 1500 --out big.npz -q");
    let query = |name: &str| format!("query m.cfqp {name} --treatment 0.5 --out new.csv --threads 1");
    let lines = [
        ("big.csv", query("big.csv")),
        ("large.parquet", query("large.parquet")),
        ("big.csv", "check big.csv --x x* --t t --y y --id id".to_owned()),
        ("big.npz", "fit big.npz --base linear --classes 1 --members 2 --out new.cfqp".to_owned()),
    ];
    for (name, line) in lines {
        let input = path.join(name);
        let content = std::fs::read(&input).unwrap();
        let before: BTreeMap<_, _> = contents(path);
        for (how, wait) in (0..3).flat_map(|how| [3, 12, 40].map(|wait| (how, wait))) {
            let program = command(path, &words(&line)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
            std::thread::sleep(Duration::from_millis(wait));
            disturb(&input, &content, how);
            let output = program.unwrap().wait_with_output().unwrap();
            let stderr = text(&output.stderr);
            assert!(matches!(output.status.code(), Some(0..=2)), "{line}: {:?} {stderr}", output.status);
            assert!(!stderr.contains("panicked"), "{line}: {stderr}");
            assert_eq!(temporary(path), [""; 0], "{line}");
            let is_written = path.join("new.csv").exists() || path.join("new.cfqp").exists();
            assert_eq!(is_written, output.status.success() && !line.starts_with("check"), "{line}: {stderr}");
            for file in ["new.csv", "new.cfqp", "new.cfqp.part"] {
                let _ = std::fs::remove_file(path.join(file));
            }
            std::fs::write(&input, &content).unwrap();
        }
        assert_eq!(contents(path), before);
    }
}

#[test]
fn files_of_the_future_are_read_like_others() {
    let folder = inputs();
    let path = folder.path();
    let fit = "fit series.npz --base linear --classes 2 --members 2 --init kmeans -q --out";
    succeed(path, &format!("{fit} a.cfqp"));
    succeed(path, "query m.cfqp data.csv --treatment 0.5 --out a.csv -q");
    // a checkpoint of the same fit, cut off
    let room = std::fs::metadata(path.join("a.cfqp")).unwrap().len() / 2;
    let part = with_room(path, &format!("{fit} b.cfqp"), room);
    assert_eq!(part.status.code(), Some(2), "{}", text(&part.stderr));
    assert!(path.join("b.cfqp.part").exists());
    std::fs::write(path.join(".cfqp-stale"), "left by a killed program").unwrap();
    let future = SystemTime::now() + Duration::from_secs(400 * 24 * 3600);
    for name in ["data.csv", "m.cfqp", "series.npz", "b.cfqp.part", ".cfqp-stale"] {
        let file = File::options().append(true).open(path.join(name)).unwrap();
        file.set_times(FileTimes::new().set_modified(future).set_accessed(future)).unwrap();
    }
    succeed(path, &format!("{fit} b.cfqp --resume"));
    succeed(path, "query m.cfqp data.csv --treatment 0.5 --out b.csv -q");
    assert_eq!(temporary(path), [""; 0]);
    let read = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert!(read("a.cfqp") == read("b.cfqp") && read("a.csv") == read("b.csv"));
    assert!(!path.join("b.cfqp.part").exists());
    assert!(cfqp(path, &words("model show m.cfqp")).status.success());
}
