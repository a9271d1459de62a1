#![no_main]

mod target;

target!(csv);
