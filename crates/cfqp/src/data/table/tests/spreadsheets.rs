//! Spreadsheets.

use std::io::Write as _;

use super::*;

/// A workbook with two sheets; the table in the second starts in row 3.
fn workbook() -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    let text = |cell: &str, text: &str| format!("<c r=\"{cell}\" t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let header = |row: usize| {
        let cells = [("A", "day"), ("B", "ok"), ("C", "t"), ("D", "y")];
        cells.map(|(column, name)| text(&format!("{column}{row}"), name)).concat()
    };
    let first = format!(
        "<row r=\"1\">{}</row><row r=\"2\"><c r=\"A2\" s=\"1\"><v>45352</v></c><c r=\"B2\" t=\"b\"><v>1</v></c>\
         <c r=\"C2\"><v>0.5</v></c><c r=\"D2\"><v>1.25</v></c></row><row r=\"4\"><c r=\"A4\" s=\"1\"><v>45353.5</v></c>\
         <c r=\"B4\" t=\"b\"><v>0</v></c><c r=\"C4\"><v>2</v></c><c r=\"D4\" t=\"e\"><v>#N/A</v></c></row>\
         <row r=\"5\"><c r=\"A5\" s=\"1\"><v>45353</v></c><c r=\"C5\"><v>2</v></c><c r=\"D5\"><v>3</v></c></row>",
        header(1)
    );
    let second = format!(
        "<row r=\"3\">{}</row><row r=\"4\"><c r=\"C4\"><v>1</v></c><c r=\"D4\" t=\"e\"><v>#DIV/0!</v></c></row>",
        header(3)
    );
    let sheet = |rows: &str| format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>");
    let relation = |id: usize, kind: &str, target: &str| {
        format!("<Relationship Id=\"rId{id}\" Type=\"{RELATIONS}/{kind}\" Target=\"{target}\"/>")
    };
    let relations =
        |all: String| format!("<Relationships xmlns=\"{PACKAGE}/relationships\">{all}</Relationships>");
    let parts = [
        (
            "[Content_Types].xml",
            format!(
                "<Types xmlns=\"{PACKAGE}/content-types\"><Default Extension=\"xml\" ContentType=\"text/xml\"/></Types>"
            ),
        ),
        ("_rels/.rels", relations(relation(1, "officeDocument", "xl/workbook.xml"))),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><sheets><sheet name=\"Data\" sheetId=\"1\" \
                 r:id=\"rId1\"/><sheet name=\"Bad one\" sheetId=\"2\" r:id=\"rId2\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            relations(
                relation(1, "worksheet", "worksheets/sheet1.xml")
                    + &relation(2, "worksheet", "worksheets/sheet2.xml")
                    + &relation(3, "styles", "styles.xml"),
            ),
        ),
        (
            "xl/styles.xml",
            format!(
                "<styleSheet xmlns=\"{MAIN}\"><cellXfs count=\"2\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs>\
                 </styleSheet>"
            ),
        ),
        ("xl/worksheets/sheet1.xml", sheet(&first)),
        ("xl/worksheets/sheet2.xml", sheet(&second)),
    ];
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_spreadsheet_is_read_like_a_csv_file() {
    let folder = Folder::new();
    let path = folder.write("a.xlsx", workbook());
    let spec = wide_spec("day,ok", "t", "y");
    let table = Table::read(&path, &spec).unwrap();
    assert_eq!(table.data.x().values(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!((table.data.t().values(), table.data.y().values()), (&[0.5, 2.0][..], &[1.25, 3.0][..]));
    assert_eq!((table.summary.rows, &table.summary.dropped[0].first[..]), (3, "row 4"));
    let csv = folder.write("a.csv", "day,ok,t,y\n2024-03-01,TRUE,0.5,1.25\n2024-03-02,,2,3\n");
    assert_eq!(table.layout.read(&csv, true).unwrap().batch.data, table.data);

    let second = TableSpec { sheet: Some("Bad one".into()), ..wide_spec("", "t", "y") };
    let error = Table::read(&path, &second).unwrap_err().to_string();
    assert!(error.ends_with("row 4, column `y`: `#DIV/0!` is not a number"), "{error}");
    let unknown = Table::read(&path, &TableSpec { sheet: Some("data".into()), ..spec.clone() }).unwrap_err();
    assert_eq!(unknown.hint(), Some("the sheets are Data, Bad one"));
    let error = Table::read(folder.write("b.xlsx", "a,t,y"), &spec).unwrap_err();
    assert!(error.to_string().contains("not a readable .xlsx file"), "{error}");
}
