#![no_main]

mod target;

target!(parquet);
