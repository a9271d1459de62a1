//! Writes small valid files of every kind, from which fuzzing starts. The same version writes the same files.
//!
//!     cargo run --release -p cfqp --example fuzz_seeds -- fuzz/corpus

use std::error::Error;
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use cfqp::data::NpzArray;
use cfqp::models::{MlpConfig, TransformerConfig, UnetConfig};
use cfqp::sim::Oscillator;
use cfqp::{Base, Classes, Dataset, Fit, FitConfig, Model, Resources, Table, TableSpec, Units};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression as Codec;
use parquet::file::properties::{WriterProperties, WriterVersion};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("give the folder of the corpora")?;
    let seeds = Seeds { folder };
    seeds.arrays()?;
    seeds.texts()?;
    seeds.tables()?;
    seeds.spreadsheets()?;
    seeds.models()?;
    Ok(())
}

/// The folder of all corpora.
struct Seeds {
    folder: PathBuf,
}

impl Seeds {
    /// The path of a seed of a target; its folder exists.
    fn path(&self, target: &str, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(target);
        std::fs::create_dir_all(&folder)?;
        Ok(folder.join(format!("seed-{name}")))
    }

    fn write(&self, target: &str, name: &str, bytes: impl AsRef<[u8]>) -> Result {
        Ok(std::fs::write(self.path(target, name)?, bytes)?)
    }

    fn arrays(&self) -> Result {
        let mask = Some(vec![true, false, true, true, true, true]);
        let x = Units::with_mask("x", vec![2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], mask)?;
        let t = Units::new("t", vec![1], vec![0.5, 0.7, 0.9])?;
        let y = Units::new("y", vec![1, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
        let data = Dataset::new(x, t, y)?.with_groups(vec![0, 1, 0])?;
        data.write_npz(&self.path("npz", "units")?, &[])?;
        let more = [("z", NpzArray::integers(&[1, 2, 3]))];
        data.write_npz(&self.path("npz", "classes")?, &more)?;
        for (name, descr, order, elements) in [
            ("f4", "<f4", "False", 24),
            ("f8-fortran", ">f8", "True", 48),
            ("half", "<f2", "False", 12),
            ("bool", "|b1", "False", 6),
        ] {
            let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': (3, 2), }}\n");
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text.bytes());
            bytes.extend((0..elements).map(|i| (i % 2) as u8));
            self.write("npz", name, bytes)?;
        }
        let idx = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
        self.write("idx", "plain", idx)?;
        self.write("idx", "gzip", gzip(&idx)?)
    }

    fn texts(&self) -> Result {
        let wide = "id,age,ward,day,dose,y\na,30,north,2024-03-01,0.5,1.5\nb,40,south,2024-03-02,0.7,2.5\n\
                    c,,north,2024-04-01,0.9,3.5\nd,\"1,000.5\",west,2024-05-01,1,2.5\n";
        let long = "id,time,at,sex,dose,v\na,0,1,m,0.5,1\na,1,1,m,0.5,2\na,2,1,m,0.5,3\nb,0,2,f,0.7,2\nb,1,2,f,,3\n\
                    b,2,2,f,,4\nb,3,2,f,,5\nb,4,2,f,,\n";
        let groups = "group,x,drug,y\n1,0.1,A,yes\n1,0.2,B,no\n2,0.3,A,no\n2,0.4,B,yes\n";
        for (name, text) in [("wide", wide), ("long", long), ("groups", groups)] {
            self.write("csv", name, text)?;
        }
        self.write("csv", "gzip", gzip(wide.as_bytes())?)?;
        self.write("csv", "windows", format!("\u{feff}{}", groups.replace('\n', "\r\n")))?;
        let study = "data = 'a.csv'\nvalid = 'b.csv'\nout = 'm.cfqp'\n[table]\nid = 'id'\nx = ['age', 'w*']\n\
                     t = ['dose']\nt_kind = ['number']\ny = ['y']\ny_kind = ['count']\nmissing = ['-']\ndecimal = ','\n\
                     [fit]\nclasses = 3\nbase = 'mlp'\nstarts = ['kmeans-unit']\nepochs = 5\n\
                     [fit.mlp]\nhidden = [8, 8]\n[fit.unet]\nchannels = [4, 8, 8, 8]\n";
        self.write("study", "wide", study)?;
        let long = "[table]\nid = 'id'\ntime = 'day'\nseries = ['v']\nt = ['dose']\ntreated_at = 20\nbefore = 3.5\nstep = 1\n\
                    [fit]\nclasses = 'auto'\nmax_classes = 4\nbase = 'transformer'\n[fit.transformer]\nwidth = 16\n";
        self.write("study", "long", long)?;
        self.write("query", "numbers", "0.5\ndose\ndrug=B\n0.2:1:9\n{\"rho\": 0.5, \"level\": 0.9}")?;
        self.write("query", "levels", "drug=B,dose=0.8\ndrug\ndose=0.5\n\n{\"rho\": \"auto\"}")?;
        self.write("query", "odd", "C,1\ndrug\ndose=C,1\n0.1\n{}")
    }

    fn tables(&self) -> Result {
        for (name, batch) in [("wide", wide()?), ("lists", lists()?)] {
            for (codec, compression) in [
                ("plain", None),
                ("lz4", Some(CompressionType::LZ4_FRAME)),
                ("zstd", Some(CompressionType::ZSTD)),
            ] {
                let options = IpcWriteOptions::default().try_with_compression(compression)?;
                let mut file = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options)?;
                file.write(&batch)?;
                self.write("arrow", &format!("{name}-{codec}"), file.into_inner()?)?;
            }
            let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema())?;
            stream.write(&batch)?;
            self.write("arrow", &format!("{name}-stream"), stream.into_inner()?)?;
            for (codec, compression, version) in [
                ("plain", Codec::UNCOMPRESSED, WriterVersion::PARQUET_1_0),
                ("snappy", Codec::SNAPPY, WriterVersion::PARQUET_1_0),
                ("zstd", Codec::ZSTD(Default::default()), WriterVersion::PARQUET_2_0),
                ("gzip", Codec::GZIP(Default::default()), WriterVersion::PARQUET_2_0),
                ("lz4", Codec::LZ4_RAW, WriterVersion::PARQUET_1_0),
            ] {
                let properties = WriterProperties::builder()
                    .set_compression(compression)
                    .set_writer_version(version)
                    .build();
                let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
                writer.write(&batch)?;
                self.write("parquet", &format!("{name}-{codec}"), writer.into_inner()?)?;
            }
        }
        Ok(())
    }

    fn spreadsheets(&self) -> Result {
        for (name, method) in
            [("stored", zip::CompressionMethod::Stored), ("deflated", zip::CompressionMethod::Deflated)]
        {
            let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
            for (part, text) in spreadsheet_parts() {
                zip.start_file(part, SimpleFileOptions::default().compression_method(method))?;
                zip.write_all(text.as_bytes())?;
            }
            self.write("xlsx", name, zip.finish()?.into_inner())?;
        }
        Ok(())
    }

    fn models(&self) -> Result {
        let series = Oscillator::default().simulate(24, 1)?.data;
        for base in [Base::Linear, Base::Mlp, Base::Unet, Base::Transformer] {
            let name = base.name();
            // the checkpoint of linear models is large
            let checkpoint = if base == Base::Linear { None } else { Some(self.path("checkpoint", name)?) };
            let resources = Resources { threads: 1, checkpoint, ..Resources::default() };
            let model = Fit::new(small_networks(base)).resources(resources).run(&series)?;
            self.model(name, &model)?;
        }
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("table.csv");
        let row = |i: usize| format!("{},{},{},{}\n", i % 7, ["A", "B"][i % 2], i % 5, (i * i) % 11);
        let rows: String = (0..40).map(row).collect();
        std::fs::write(&path, format!("x,drug,dose,y\n{rows}"))?;
        let spec = TableSpec {
            x: names(&["x"]),
            t: names(&["drug", "dose"]),
            y: names(&["y"]),
            ..TableSpec::default()
        };
        let config = FitConfig { classes: Classes::Given(1), members: Some(2), ..FitConfig::default() };
        self.model("density", &Fit::new(config).run(&Table::read(&path, &spec)?)?)
    }

    /// Writes a model as a file, and as the JSON text of its header with the shapes of its arrays.
    fn model(&self, name: &str, model: &Model) -> Result {
        let path = self.path("model", name)?;
        model.save(&path)?;
        let bytes = std::fs::read(&path)?;
        let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes)?;
        let head =
            metadata.metadata().as_ref().and_then(|text| text.get("cfqp")).ok_or("there is no header")?;
        let head: serde_json::Value = serde_json::from_str(head)?;
        let shapes = metadata.tensors();
        let order = head["order"].as_array().ok_or("there is no order")?;
        let arrays = order.iter().filter_map(|name| Some(json!([name, shapes.get(name.as_str()?)?.shape])));
        let arrays: Vec<_> = arrays.collect();
        let header = json!({ "model": head["model"], "arrays": arrays });
        self.write("model_header", name, header.to_string())
    }
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn wide() -> Result<RecordBatch> {
    let ward: DictionaryArray<Int32Type> =
        [Some("north"), Some("south"), None, Some("north")].into_iter().collect();
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))),
        ("age", Arc::new(Float64Array::from(vec![Some(30.0), None, Some(50.0), Some(60.0)]))),
        ("ward", Arc::new(ward)),
        ("ill", Arc::new(BooleanArray::from(vec![true, false, true, false]))),
        ("drug", Arc::new(StringArray::from(vec!["A", "B", "A", "B"]))),
        ("y", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0]))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn lists() -> Result<RecordBatch> {
    let rows = [Some(vec![Some(1), None, Some(3)]), None, Some(vec![Some(4)]), Some(vec![])];
    let columns: [(&str, ArrayRef); 3] = [
        ("x", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows.clone()))),
        ("dose", Arc::new(Float64Array::from(vec![0.1, 0.2, 0.3, 0.4]))),
        ("y", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Networks whose files are small.
fn small_networks(base: Base) -> FitConfig {
    let sizes = TransformerConfig::default();
    FitConfig {
        classes: Classes::Given(2),
        base,
        members: Some(2),
        epochs: Some(1),
        mlp: MlpConfig { hidden: vec![3], ..MlpConfig::default() },
        unet: UnetConfig { channels: [2, 2, 2, 2], embed: 2, groups: 1, ..UnetConfig::default() },
        transformer: TransformerConfig { width: 4, layers: 1, heads: 2, feed_forward: 4, ..sizes },
        ..FitConfig::default()
    }
}

/// The parts of a spreadsheet, which is a zip archive.
fn spreadsheet_parts() -> [(&'static str, String); 4] {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |kind: &str, target: &str| {
        let relation = format!("<Relationship Id=\"a\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>");
        format!("<Relationships xmlns=\"{RELATIONS}\">{relation}</Relationships>")
    };
    let sheet = "<sheets><sheet name=\"s\" sheetId=\"1\" r:id=\"a\"/></sheets>";
    let rows = [
        spreadsheet_row(1, &["age", "dose", "y"]),
        spreadsheet_row(2, &["30", "0.5", "1"]),
        spreadsheet_row(3, &["40", "0.7", "2"]),
    ];
    let rows = rows.concat();
    [
        ("_rels/.rels", relation("officeDocument", "xl/workbook.xml")),
        ("xl/workbook.xml", format!("<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\">{sheet}</workbook>")),
        ("xl/_rels/workbook.xml.rels", relation("worksheet", "worksheets/sheet1.xml")),
        (
            "xl/worksheets/sheet1.xml",
            format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>"),
        ),
    ]
}

fn spreadsheet_row(number: usize, values: &[&str]) -> String {
    let cell = |(value, column): (&&str, char)| match value.parse::<f64>() {
        Ok(_) => format!("<c r=\"{column}{number}\"><v>{value}</v></c>"),
        Err(_) => format!("<c r=\"{column}{number}\" t=\"inlineStr\"><is><t>{value}</t></is></c>"),
    };
    let cells: String = values.iter().zip('A'..).map(cell).collect();
    format!("<row r=\"{number}\">{cells}</row>")
}
