use super::*;
use crate::data::files::faulty::{check_reader, check_writer};
use crate::data::table::TableSummary;
use tempfile::TempDir;

/// Three series of two channels and two steps; one element of y is missing.
fn dataset() -> Dataset {
    let values = |from: usize| (from..from + 12).map(|i| i as f32 / 7.0).collect::<Vec<_>>();
    let mut mask = vec![true; 12];
    mask[5] = false;
    Dataset::new(
        Units::new("x", vec![2, 2], values(0)).unwrap(),
        Units::new("t", vec![1], vec![0.1, 0.2, 0.3]).unwrap(),
        Units::with_mask("y", vec![2, 2], values(12), Some(mask)).unwrap(),
    )
    .unwrap()
}

fn f32s(shape: &[usize]) -> NpzArray<'static> {
    static ZEROS: [f32; 64] = [0.0; 64];
    let count = shape.iter().product();
    NpzArray { shape: shape.to_vec(), values: NpzValues::F32(&ZEROS[..count]) }
}

fn written(arrays: &[(&str, NpzArray)]) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    write_npz(&path, arrays).unwrap();
    (folder, path)
}

/// The message of reading such a data set, without the path.
fn read_error(arrays: &[(&str, NpzArray)]) -> String {
    let (_folder, path) = written(arrays);
    let error = Dataset::read_npz(&path).unwrap_err();
    assert!(error.hint().is_some());
    error.to_string().rsplit_once("a.npz: ").unwrap().1.to_owned()
}

#[test]
fn a_data_set_is_read_back_and_the_same_data_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.npz"), folder.path().join("b.npz"));
    let data = dataset();
    let z = NpzArray::integers(&[2, 0, 1]);
    data.write_npz(&a, &[("z", z.clone())]).unwrap();
    data.write_npz(&b, &[("z", z)]).unwrap();
    assert_eq!(Dataset::read_npz(&a).unwrap(), data);
    assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
    let z = read_array(&a, "z").unwrap().unwrap();
    assert_eq!((z.shape(), z.values()), (&[1][..], &[2.0, 0.0, 1.0][..]));
    assert_eq!(read_array(&a, "t_new").unwrap(), None);
}

#[test]
fn subjects_are_integers_one_per_unit_and_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let data = dataset().with_groups(vec![0, 1, 0]).unwrap();
    data.write_npz(&path, &[]).unwrap();
    assert_eq!(Dataset::read_npz(&path).unwrap(), data);

    let (x, t, y) = (("x", f32s(&[3, 2])), ("t", f32s(&[3])), ("y", f32s(&[3])));
    // these differ by one and are equal as f32
    let large = [(1 << 53) + 1, 1 << 53, (1 << 53) + 1];
    let (_folder, path) = written(&[x.clone(), t.clone(), y.clone(), ("group", NpzArray::integers(&large))]);
    assert_eq!(Dataset::read_npz(&path).unwrap().groups(), Some(&[0, 1, 0][..]));
    let error = |group| read_error(&[x.clone(), t.clone(), y.clone(), ("group", group)]);
    assert_eq!(error(NpzArray::integers(&[1, 2])), "group: 2 subjects are given for 3 units");
    assert_eq!(error(f32s(&[3])), "array `group`: the elements are not stored as integers");
    let square = NpzArray { shape: vec![1, 3], values: NpzValues::I64(&[1, 2, 3]) };
    assert_eq!(error(square), "array `group` has shape [1, 3]");
}

#[test]
fn shapes_from_numbers_to_images_are_read() {
    let (_folder, path) = written(&[("x", f32s(&[4])), ("t", f32s(&[4, 2])), ("y", f32s(&[4, 1, 2, 3]))]);
    let data = Dataset::read_npz(&path).unwrap();
    assert_eq!((data.x().shape(), data.t().shape(), data.y().shape()), (&[1][..], &[2][..], &[1, 2, 3][..]));
}

#[test]
fn a_nan_is_an_error_with_its_place() {
    let mut values = [0.0; 6];
    values[3] = f32::NAN;
    let x = NpzArray { shape: vec![3, 2], values: NpzValues::F32(&values) };
    let message = read_error(&[("x", x), ("t", f32s(&[3])), ("y", f32s(&[3]))]);
    assert_eq!(message, "x, unit 1, element 1: the value is NaN");
}

#[test]
fn masked_values_may_be_nan() {
    let (values, mask) = ([f32::NAN, 2.0], [0, 1]);
    let x = NpzArray { shape: vec![2], values: NpzValues::F32(&values) };
    let mask = NpzArray { shape: vec![2], values: NpzValues::I64(&mask) };
    let (_folder, path) = written(&[("x", x), ("x_mask", mask), ("t", f32s(&[2])), ("y", f32s(&[2]))]);
    let data = Dataset::read_npz(&path).unwrap();
    assert_eq!((data.x().values(), data.x().mask()), (&[0.0, 2.0][..], Some(&[false, true][..])));
}

#[test]
fn wrong_keys_and_shapes_are_errors_that_show_what_was_found() {
    let (x, t, y) = (("x", f32s(&[3, 2])), ("t", f32s(&[3])), ("y", f32s(&[3])));
    let message = read_error(&[x.clone(), ("T", f32s(&[3])), y.clone()]);
    assert_eq!(message, "unknown array `T` (found [\"x\", \"T\", \"y\"])");
    let message = read_error(&[x.clone(), y.clone()]);
    assert_eq!(message, "there is no array `t` (found [\"x\", \"y\"])");
    let message = read_error(&[x.clone(), ("t", f32s(&[4])), y.clone()]);
    assert_eq!(message, "t: 4 units, but x has 3");
    let message = read_error(&[x.clone(), ("x_mask", f32s(&[2, 3])), t.clone(), y.clone()]);
    assert_eq!(message, "x_mask: the shape is [2, 3], but x has [3, 2]");
    assert!(read_error(&[("x", f32s(&[])), t.clone(), y.clone()]).contains("single number"));
    assert!(read_error(&[("x", f32s(&[3, 0])), t.clone(), y.clone()]).contains("shape [0]"));
    assert!(read_error(&[("x", f32s(&[3, 1, 1, 1, 1])), t, y.clone()]).contains("[1, 1, 1, 1]"));
    assert!(read_error(&[x, ("t", f32s(&[3, 1, 1])), y]).contains("[1, 1]"));
}

#[test]
fn a_truncated_or_altered_file_is_an_error_or_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let data = dataset();
    data.write_npz(&path, &[]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let error = Dataset::read_npz(&path).unwrap_err();
        assert!(error.to_string().contains("a.npz: "), "{error}");
    }
    for place in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[place] ^= 0x15;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(read) = Dataset::read_npz(&path) {
            assert_eq!(read, data, "byte {place}");
        }
    }
}

#[test]
fn garbage_a_missing_file_and_a_folder_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    assert!(Dataset::read_npz(&path).unwrap_err().hint().unwrap().contains("no such file"));
    std::fs::write(&path, [7; 4096]).unwrap();
    assert!(matches!(Dataset::read_npz(&path), Err(Error::File { .. })));
    assert!(Dataset::read_npz(folder.path()).is_err());
}

#[test]
fn hostile_headers_and_zip_bombs_are_rejected_before_memory_is_allocated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let write = |shape: &[usize], zeros: usize| {
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        zip.start_file("x.npy", SimpleFileOptions::default()).unwrap();
        npy::write_header(&mut zip, "<f4", shape).unwrap();
        (0..zeros >> 20).for_each(|_| zip.write_all(&[0; 1 << 20]).unwrap());
        zip.finish().unwrap();
    };
    write(&[1_000_000_000_000], 0);
    let message = read_array(&path, "x").unwrap_err().to_string();
    assert!(message.contains("array `x`: the header gives shape [1000000000000]"), "{message}");
    write(&[1 << 28, 2], 2 << 30);
    let error = read_array(&path, "x").unwrap_err();
    assert!(error.to_string().contains("would expand to 2147483"), "{error}");
}

#[test]
fn arrays_with_wrong_shapes_or_repeated_names_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let wrong = NpzArray { shape: vec![2, 2], values: NpzValues::F32(&[1.0]) };
    assert!(write_npz(&path, &[("x", wrong)]).is_err());
    assert!(write_npz(&path, &[("x", f32s(&[1])), ("x", f32s(&[1]))]).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Data simulated by the paper's public code, in the folder named by `CFQP_REFERENCE`.
#[test]
fn reference_files_are_read() {
    let Some(folder) = std::env::var_os("CFQP_REFERENCE") else {
        eprintln!("skipped: CFQP_REFERENCE is not set");
        return;
    };
    for (name, units) in [("oscillator_add_421_train", 2100), ("cardio_add_421_cf", 1000)] {
        let path = Path::new(&folder).join(name).with_extension("npz");
        let data = Dataset::read_npz(&path).unwrap();
        assert_eq!((data.len(), data.x().shape(), data.t().shape()), (units, &[2, 20][..], &[1][..]));
        let held = read_array(&path, "y_new").unwrap();
        assert_eq!(held.map(|y| y.len()), name.ends_with("cf").then_some(units));
    }
}

#[test]
fn texts_are_written_as_characters_of_four_bytes() {
    let mut bytes = Vec::new();
    NpzArray { shape: vec![2], values: NpzValues::Text(&["a", "\u{e9}t"]) }.write(&mut bytes).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("'descr': '<U2'"));
    let expected: Vec<u8> = [97, 0, 0xe9, 116].into_iter().flat_map(u32::to_le_bytes).collect();
    assert!(bytes.ends_with(&expected));
}

#[test]
fn two_entries_of_one_name_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    write_npz(&path, &[("x", f32s(&[1])), ("z", f32s(&[1]))]).unwrap();
    assert_eq!(read_array(&path, "x").unwrap().map(|x| x.len()), Some(1));
    let mut bytes = std::fs::read(&path).unwrap();
    for at in 0..bytes.len() - 5 {
        if &bytes[at..at + 5] == b"z.npy" {
            bytes[at] = b'x';
        }
    }
    std::fs::write(&path, bytes).unwrap();
    let error = read_array(&path, "x").unwrap_err().to_string();
    assert!(error.contains("the archive has 2 entries, but only 1 names"), "{error}");
}

#[test]
fn numbers_of_16_bits_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    zip.start_file("x.npy", SimpleFileOptions::default()).unwrap();
    npy::write_header(&mut zip, "<f2", &[4]).unwrap();
    // 1, -2, 65504 and the smallest positive one
    for word in [0x3c00_u16, 0xc000, 0x7bff, 0x0001] {
        zip.write_all(&word.to_le_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let x = read_array(&path, "x").unwrap().unwrap();
    assert_eq!(x.values(), [1.0, -2.0, 65504.0, 2.0_f32.powi(-24)]);
}

#[test]
fn faults_are_errors_or_change_nothing() {
    let arrays = || [("x", f32s(&[40])), ("t", f32s(&[40]))];
    check_writer(|file| write_zip(file, &arrays()));
    // buffered as files are, with many writes of a few bytes
    check_writer(|file| {
        let mut buffered = std::io::BufWriter::with_capacity(16, file);
        write_zip(&mut buffered, &arrays())?;
        buffered.flush().map_err(ZipError::Io)
    });
    let mut bytes = Vec::new();
    f32s(&[3, 5]).write(&mut bytes).unwrap();
    let (size, limits) = (bytes.len() as u64, npy::Limits { credible: u64::MAX, used: 0 });
    check_reader(&bytes, |file| match npy::read::<f32>(Retrying(file), size, limits) {
        Ok(read) => Ok(read),
        Err(NpyError::Read(error)) => Err(error.to_string()),
        Err(error) => Err(format!("{error:?}")),
    });
}

#[test]
fn digits_that_single_precision_does_not_have_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let small: Vec<i64> = (0..60).map(|i| i * 7 % 60).collect();
    // a second column of numbers that are all equal in single precision
    let large: Vec<i64> = (0..60).map(|i| if i % 2 == 0 { i } else { 1_000_000_000 + i / 2 }).collect();
    let two_columns = |values| NpzArray { shape: vec![30, 2], values: NpzValues::I64(values) };
    let t = || NpzArray { shape: vec![30], values: NpzValues::I64(&small[..30]) };
    for (x, y, lost) in [(&small, &small, None), (&small, &large, Some("y")), (&large, &small, Some("x"))] {
        write_npz(&path, &[("x", two_columns(x)), ("t", t()), ("y", two_columns(y))]).unwrap();
        let data = Dataset::read_npz(&path).unwrap();
        let error = data.check_scales().err().map(|error| error.to_string());
        // `check` says what `fit` refuses
        let problems = TableSummary::from_arrays(&data).problems;
        assert_eq!(problems.iter().any(|problem| problem.contains("stored with 7 digits")), lost.is_some());
        let expected = lost.map(|name| {
            format!("{name}: the values lie between 1000000000 and 1000000029, but are stored with 7 digits")
        });
        assert_eq!(error, expected);
    }
}
